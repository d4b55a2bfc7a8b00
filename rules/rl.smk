"""Single-shot pruning for offline RL: masks, training, latencies, bench.

A job takes one stack of rows of the experiment table (triptych/rl/sweep.py).
"""


include: "rl_inputs.smk"
include: "rl_report.smk"


rule rl:
    """Offline-RL pruning (Arnob et al. 2021): all its tables and figures."""
    input:
        RL.products,


wildcard_constraints:
    task="[a-z][a-z0-9_]*",
    networks="[a-z][a-z0-9_]*",
    stack="measured|[a-z][a-z0-9_]*-(all|sp[0-9.]+-[0-9]+)",


rule rl_prune:
    """Prune the measured runs at initialisation: masks, weights kept by layer, bytes stored."""
    input:
        transitions=RL.measured_on,
    output:
        masks=RL.files("masks.safetensors", trained=False),
        layers=RL.files("layers.csv", trained=False),
        inputs=RL.files("inputs.csv", trained=False),
        sizes=RL.files("sizes.csv", trained=False),
    log:
        "results/logs/rl_prune/rl_prune.log",
    benchmark:
        "results/benchmarks/rl_prune/rl_prune.tsv"
    conda:
        "../envs/rl.yaml"
    params:
        runs=RL.measured,
        tasks=RL.tables,
        networks=RL.config["measure"]["widths"],
        widths=RL.config["widths"][RL.config["measure"]["widths"]],
        bcq=RL.config["bcq"],
        pruning=made(RL.measured_with),
        code=code("rl_prune"),
    script:
        "../workflow_scripts/rl/prune.py"


rule rl_train:
    """Prune, train and score a stack of runs of one algorithm, and of those that it contains."""
    input:
        transitions="results/rl/{task}/transitions.safetensors",
        pruned_on=RL.pruned_on,
    output:
        masks="results/rl/{task}/{networks}/{stack}/masks.safetensors",
        layers="results/rl/{task}/{networks}/{stack}/layers.csv",
        inputs="results/rl/{task}/{networks}/{stack}/inputs.csv",
        sizes="results/rl/{task}/{networks}/{stack}/sizes.csv",
        policies="results/rl/{task}/{networks}/{stack}/policies.safetensors",
        scores="results/rl/{task}/{networks}/{stack}/scores.csv",
        losses="results/rl/{task}/{networks}/{stack}/losses.csv",
    log:
        "results/logs/rl_train/{task}-{networks}-{stack}.log",
    benchmark:
        "results/benchmarks/rl_train/{task}-{networks}-{stack}.tsv"
    wildcard_constraints:
        stack="[a-z][a-z0-9_]*-(all|sp[0-9.]+-[0-9]+)",
    priority: 20  # the longest jobs of a demo: begun last, they would leave cores idle
    retries: RETRIES
    conda:
        "../envs/rl.yaml"
    resources:
        gpu=GPU,
    params:
        task=RL.task,
        runs=RL.runs,
        widths=RL.widths,
        algorithms=RL.algorithms,
        pruning=made(lambda wildcards: RL.pruning(wildcards.task, RL.runs(wildcards))),
        training=RL.config["training"],
        evaluation={k: v for k, v in RL.config["evaluation"].items() if k != "last"},
        device=config["device"],
        checkpoint=made("results/checkpoints/rl_train/{task}-{networks}-{stack}"),
        code=code("rl_train"),
    script:
        "../workflow_scripts/rl/train.py"


rule rl_latency:
    """Time how fast a pruned policy acts, in dense and sparse kernels, and as it is deployed."""
    input:
        masks=[RL.timed_masks],
        transitions="results/rl/{task}/transitions.safetensors",
        policies=RL.deployed_policies,
    output:
        latency="results/rl/{task}/latency.csv",
        deployed="results/rl/{task}/deployed.csv",
    log:
        "results/logs/rl_latency/{task}.log",
    benchmark:
        "results/benchmarks/rl_latency/{task}.tsv"
    conda:
        "../envs/rl.yaml"
    # It computes on one thread; all the others are taken so that no other job disturbs the clock.
    threads: CORES
    params:
        run=RL.timed,
        runs=RL.timed_stack,
        networks=RL.config["measure"]["widths"],
        widths=RL.config["widths"][RL.config["measure"]["widths"]],
        acting={
            "candidates": RL.config["latency"]["candidates"],
            "phi": RL.config["bcq"]["phi"],
        },
        batches=RL.config["latency"]["batches"],
        repeats=RL.config["latency"]["repeats"],
        deployed=RL.deployed,
        deployed_networks=RL.deployed_networks,
        task=RL.task,
        evaluation={
            k: v
            for k, v in RL.config["evaluation"].items()
            if k not in ("every", "last")
        },
        code=code("rl_latency"),
    script:
        "../workflow_scripts/rl/latency.py"
