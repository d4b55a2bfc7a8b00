"""Single-shot pruning for offline RL: masks, training, latencies, bench.

The experiment table has one row a run; a job takes one stack of rows of one task.
"""

RL = config["rl"]

for _grid in ("sweep", "measure"):
    if RL[_grid]["widths"] not in RL["widths"]:
        raise WorkflowError(
            f"config: rl.{_grid}.widths is {RL[_grid]['widths']!r}; "
            f"allowed is a name from rl.widths: {', '.join(RL['widths'])}"
        )

RL_RUNS = experiment_table(
    RL["tasks"],
    trained=Grid(
        RL["sweep"]["widths"],
        RL["sweep"]["methods"],
        RL["sweep"]["sparsities"],
        RL["sweep"]["seeds"],
        RL["sweep"]["controls"]["methods"],
        RL["sweep"]["controls"]["sparsities"],
    ),
    measured=Grid(
        RL["measure"]["widths"],
        RL["measure"]["methods"],
        RL["measure"]["sparsities"],
        RL["measure"]["seeds"],
    ),
    stack=RL["sweep"]["stack"],
)


def rl_runs_of(task, networks, stack):
    """The rows of one stack, as plain records for params."""
    of_stack = (RL_RUNS[["task", "networks", "stack"]] == [task, networks, stack]).all(axis=1)
    return run_records(RL_RUNS[of_stack])


def rl_runs(wildcards):
    return rl_runs_of(wildcards.task, wildcards.networks, wildcards.stack)


def rl_files(name, trained=None, networks=None):
    """Paths of the file `name` of every stack, or only of those trained or of these widths."""
    table = RL_RUNS
    if trained is not None:
        table = table[table["trained"] == trained]
    if networks is not None:
        table = table[table["networks"] == networks]
    stacks = table[["task", "networks", "stack"]].drop_duplicates()
    return [
        f"results/rl/{task}/{networks}/{stack}/{name}"
        for task, networks, stack in stacks.itertuples(index=False)
    ]


def rl_widths(wildcards):
    return RL["widths"][wildcards.networks]


# The one measured run whose speed is taken, and the stack that holds its mask.
RL_TIMED = RL_RUNS[
    (RL_RUNS["task"] == RL["latency"]["task"])
    & (RL_RUNS["networks"] == RL["measure"]["widths"])
    & (RL_RUNS["method"] == RL["latency"]["method"])
    & (RL_RUNS["sparsity_percent"] == RL["latency"]["sparsity"])
].head(1)

if RL_TIMED.empty:
    raise WorkflowError(
        f"config: rl.latency asks for {RL['latency']['method']} at {RL['latency']['sparsity']}% "
        f"on {RL['latency']['task']}; rl.tasks and rl.measure make no such mask"
    )


wildcard_constraints:
    task="hopper|walker2d|halfcheetah",
    networks="[a-z][a-z0-9_]*",
    stack="[a-z0-9-]+",


rule rl_prune:
    """Prune a stack of runs at initialisation: masks, weights kept by layer, bytes stored."""
    input:
        transitions="results/rl/{task}/transitions.safetensors",
    output:
        masks="results/rl/{task}/{networks}/{stack}/masks.safetensors",
        layers="results/rl/{task}/{networks}/{stack}/layers.csv",
        sizes="results/rl/{task}/{networks}/{stack}/sizes.csv",
    params:
        runs=rl_runs,
        widths=rl_widths,
        bcq=RL["bcq"],
        pruning=RL["pruning"],
        device=config["device"],
        code=code("rl_prune"),
    log:
        "results/logs/rl_prune/{task}-{networks}-{stack}.log",
    benchmark:
        "results/benchmarks/rl_prune/{task}-{networks}-{stack}.tsv"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    conda:
        "../envs/rl.yaml"
    script:
        "../workflow_scripts/rl_prune.py"


rule rl_train:
    """Train and score a stack of runs, BCQ and the BC that it contains."""
    input:
        transitions="results/rl/{task}/transitions.safetensors",
        masks="results/rl/{task}/{networks}/{stack}/masks.safetensors",
    output:
        policies="results/rl/{task}/{networks}/{stack}/policies.safetensors",
        scores="results/rl/{task}/{networks}/{stack}/scores.csv",
        losses="results/rl/{task}/{networks}/{stack}/losses.csv",
    params:
        runs=rl_runs,
        widths=rl_widths,
        algorithms=RL["sweep"]["algorithms"],
        bcq=RL["bcq"],
        training=RL["training"],
        evaluation={key: value for key, value in RL["evaluation"].items() if key != "last"},
        device=config["device"],
        checkpoint="results/checkpoints/rl_train/{task}-{networks}-{stack}",
        code=code("rl_train"),
    log:
        "results/logs/rl_train/{task}-{networks}-{stack}.log",
    benchmark:
        "results/benchmarks/rl_train/{task}-{networks}-{stack}.tsv"
    threads: 1
    retries: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 360 * attempt,
        gpu=1 if config["device"] == "cuda" else 0,
    conda:
        "../envs/rl.yaml"
    script:
        "../workflow_scripts/rl_train.py"




rule rl_latency:
    """Time how fast a pruned policy acts, in dense and sparse kernels."""
    input:
        masks=expand(
            "results/rl/{task}/{networks}/{stack}/masks.safetensors",
            zip,
            **RL_TIMED[["task", "networks", "stack"]].to_dict("list"),
        ),
        transitions="results/rl/{task}/transitions.safetensors",
    output:
        "results/rl/{task}/latency.csv",
    params:
        run=run_records(RL_TIMED)[0],
        runs=rl_runs_of(*RL_TIMED[["task", "networks", "stack"]].iloc[0]),
        networks=RL["measure"]["widths"],
        widths=RL["widths"][RL["measure"]["widths"]],
        acting={
            "candidates": RL["latency"]["candidates"],
            "phi": RL["bcq"]["phi"],
        },
        batches=RL["latency"]["batches"],
        repeats=RL["latency"]["repeats"],
        code=code("rl_latency"),
    log:
        "results/logs/rl_latency/{task}.log",
    benchmark:
        "results/benchmarks/rl_latency/{task}.tsv"
    # It computes on one thread; all the others are taken so that no other job disturbs the clock.
    threads: workflow.cores
    resources:
        mem_mb=2000,
        runtime=20,
    conda:
        "../envs/rl.yaml"
    script:
        "../workflow_scripts/rl_latency.py"


rule rl_bench:
    """Updates per second: networks stacked against one at a time."""
    output:
        "results/bench/rl.csv",
    params:
        bench=RL["bench"],
        device=config["device"],
        code=code("rl_bench"),
    log:
        "results/logs/rl_bench/rl_bench.log",
    benchmark:
        "results/benchmarks/rl_bench/rl_bench.tsv"
    threads: workflow.cores
    resources:
        mem_mb=8000,
        runtime=30,
        gpu=1 if config["device"] == "cuda" else 0,
    conda:
        "../envs/rl.yaml"
    script:
        "../workflow_scripts/rl_bench.py"
