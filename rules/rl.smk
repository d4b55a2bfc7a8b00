"""Single-shot pruning for offline RL: masks, training, latencies.

A job takes a stack: the runs of one list of `rl.sweeps` or `rl.mask_statistics` on one task.
"""


include: "rl_inputs.smk"


# Networks that are only pruned, for Table 1 and Figures 3 and 4.
PRUNED_WIDTHS = RL.config["mask_statistics"]["widths"]


include: "rl_report.smk"


rule rl:
    """Offline-RL pruning (Arnob et al. 2021): all its tables and figures."""
    input:
        products("rl"),
        asked("rl"),


wildcard_constraints:
    task="[a-z][a-z0-9_]*",
    networks="[a-z][a-z0-9_]*",
    stack="[a-z][a-z0-9_]*-[a-z0-9_]+(-sp[0-9.]+-[0-9]+)?",


rule rl_prune:
    """Prune networks at initialisation: masks, weights kept by layer, bytes stored."""
    input:
        transitions="results/rl/{task}/transitions.safetensors",
    output:
        masks=f"results/rl/{{task}}/{PRUNED_WIDTHS}/{{stack}}/masks.safetensors",
        layers=f"results/rl/{{task}}/{PRUNED_WIDTHS}/{{stack}}/layers.csv",
        inputs=f"results/rl/{{task}}/{PRUNED_WIDTHS}/{{stack}}/inputs.csv",
        sizes=f"results/rl/{{task}}/{PRUNED_WIDTHS}/{{stack}}/sizes.csv",
    log:
        "results/logs/rl_prune/{task}-{stack}.log",
    benchmark:
        "results/benchmarks/rl_prune/{task}-{stack}.tsv"
    wildcard_constraints:
        stack="measured-[a-z0-9_]+",
    priority: 45
    conda:
        "../envs/rl.yaml"
    resources:
        **cluster(mem_mb=6000, minutes=30),
    params:
        task=RL.task,
        runs=RL.runs,
        networks=PRUNED_WIDTHS,
        widths=RL.config["widths"][PRUNED_WIDTHS],
        bcq=RL.config["bcq"],
        pruning=RL.pruning,
        code=code("rl_prune", methods=RL.methods),
    script:
        "../workflow_scripts/rl/prune.py"


rule rl_train:
    """Prune, train and score a stack of runs of one algorithm, and of those that it contains."""
    input:
        transitions="results/rl/{task}/transitions.safetensors",
    output:
        masks="results/rl/{task}/{networks}/{stack}/masks.safetensors",
        layers="results/rl/{task}/{networks}/{stack}/layers.csv",
        inputs="results/rl/{task}/{networks}/{stack}/inputs.csv",
        sizes="results/rl/{task}/{networks}/{stack}/sizes.csv",
        policies="results/rl/{task}/{networks}/{stack}/policies.safetensors",
        scores="results/rl/{task}/{networks}/{stack}/scores.csv",
        losses="results/rl/{task}/{networks}/{stack}/losses.csv",
        curves="results/rl/{task}/{networks}/{stack}/curves.png",
    log:
        "results/logs/rl_train/{task}-{networks}-{stack}.log",
    benchmark:
        "results/benchmarks/rl_train/{task}-{networks}-{stack}.tsv"
    wildcard_constraints:
        stack="(?!measured-)[a-z][a-z0-9_]*-[a-z0-9_]+(-sp[0-9.]+-[0-9]+)?",
    priority: 20  # the longest jobs of a demo: begun last, they would leave cores idle
    retries: RETRIES
    conda:
        "../envs/rl.yaml"
    resources:
        **cluster(mem_mb=13000, minutes=1250),
        gpu=GPU,
        checkpoint_every=RL.config["training"]["checkpoint_every"],
    params:
        task=RL.task,
        runs=RL.runs,
        widths=lambda wildcards: RL.config["widths"][wildcards.networks],
        algorithms=RL.algorithms,
        pruning=RL.pruning,
        training={
            key: value
            for key, value in RL.config["training"].items()
            if key != "checkpoint_every"
        },
        evaluation=RL.config["evaluation"],
        max_transitions=RL.max_transitions,
        device=config["device"],
        checkpoint=module_param(
            "results/checkpoints/rl_train/{task}-{networks}-{stack}"
        ),
        code=code("rl_train", methods=RL.methods),
    script:
        "../workflow_scripts/rl/train.py"


rule rl_latency:
    """Time how fast a pruned policy acts and trains, in dense and sparse kernels."""
    input:
        masks=f"results/rl/{{task}}/{PRUNED_WIDTHS}/{RL.timed['stack']}/masks.safetensors",
        transitions="results/rl/{task}/transitions.safetensors",
        reader=shipped("workflow_scripts/triptych/rl/acting/readers/policy.c"),
        declared=shipped("workflow_scripts/triptych/rl/acting/readers/policy.h"),
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
    resources:
        **cluster(minutes=30),
    params:
        run={
            key: RL.timed[key]
            for key in ("task", "method", "sparsity_percent", "seed")
        },
        place=RL.stack(RL.timed["task"], RL.timed["stack"]).runs.index(RL.timed),
        networks=PRUNED_WIDTHS,
        widths=RL.config["widths"][PRUNED_WIDTHS],
        bcq=RL.config["bcq"],
        latency=RL.config["latency"],
        code=code("rl_latency"),
    script:
        "../workflow_scripts/rl/latency.py"
