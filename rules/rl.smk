"""Single-shot pruning for offline RL: masks, training, latencies, bench.

A job takes one stack of rows of the experiment table (triptych/rl/tasks/sweep.py).
"""


include: "rl_inputs.smk"


# Of each task the networks that are only pruned, for Table 1, Figures 3 and 4 and the inputs.
PRUNED_WIDTHS = RL.config["mask_statistics"]["widths"]
MEASURED = f"results/rl/{{task}}/{PRUNED_WIDTHS}/measured"


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
        transitions=[RL.pruned_on(task, RL.measured(task)) for task in RL.tasks],
    output:
        masks=expand(f"{MEASURED}/masks.safetensors", task=RL.tasks),
        layers=expand(f"{MEASURED}/layers.csv", task=RL.tasks),
        inputs=expand(f"{MEASURED}/inputs.csv", task=RL.tasks),
        sizes=expand(f"{MEASURED}/sizes.csv", task=RL.tasks),
    log:
        "results/logs/rl_prune/rl_prune.log",
    benchmark:
        "results/benchmarks/rl_prune/rl_prune.tsv"
    priority: 45
    conda:
        "../envs/rl.yaml"
    params:
        runs=[RL.measured(task) for task in RL.tasks],
        tasks=[RL.task(task) for task in RL.tasks],
        networks=PRUNED_WIDTHS,
        widths=RL.config["widths"][PRUNED_WIDTHS],
        bcq=RL.config["bcq"],
        pruning=made([RL.pruning(task, RL.measured(task)) for task in RL.tasks]),
        code=code("rl_prune"),
    script:
        "../workflow_scripts/rl/prune.py"


rule rl_train:
    """Prune, train and score a stack of runs of one algorithm, and of those that it contains."""
    input:
        transitions="results/rl/{task}/transitions.safetensors",
        pruned_on=lambda wildcards: RL.pruned_on(wildcards.task, RL.runs(wildcards)),
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
        task=lambda wildcards: RL.task(wildcards.task),
        runs=RL.runs,
        widths=lambda wildcards: RL.config["widths"][wildcards.networks],
        algorithms=RL.algorithms,
        pruning=made(lambda wildcards: RL.pruning(wildcards.task, RL.runs(wildcards))),
        training=RL.config["training"],
        evaluation=RL.config["evaluation"],
        first=RL.first,
        device=config["device"],
        checkpoint=made("results/checkpoints/rl_train/{task}-{networks}-{stack}"),
        code=code("rl_train"),
    script:
        "../workflow_scripts/rl/train.py"


rule rl_latency:
    """Time how fast a pruned policy acts and trains, in dense and sparse kernels."""
    input:
        masks=f"{MEASURED}/masks.safetensors",
        transitions="results/rl/{task}/transitions.safetensors",
        reader=shipped("workflow_scripts/triptych/rl/acting/readers/policy.c"),
    output:
        latency="results/rl/{task}/latency.csv",
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
        runs=lambda wildcards: RL.measured(wildcards.task),
        networks=PRUNED_WIDTHS,
        widths=RL.config["widths"][PRUNED_WIDTHS],
        candidates=RL.config["latency"]["candidates"],
        bcq=RL.config["bcq"],
        batches=RL.config["latency"]["batches"],
        repeats=RL.config["latency"]["repeats"],
        code=code("rl_latency"),
    script:
        "../workflow_scripts/rl/latency.py"
