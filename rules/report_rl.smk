"""Tables and figures of the offline-RL study, from its tidy files."""

RL_TASKS = list(RL["tasks"])
RL_DATASETS = expand("results/rl/{task}/dataset.csv", task=RL_TASKS)
RL_TRAINED_SCORES = rl_files("scores.csv", trained=True)
RL_MEASURED_LAYERS = rl_files("layers.csv", trained=False)
RL_MEASURED_SIZES = rl_files("sizes.csv", trained=False)
RL_LATENCY = f"results/rl/{RL['latency']['task']}/latency.csv"
RL_FIGURES = [
    "rl_figure1",
    "rl_figure2",
    "rl_figure3",
    "rl_figure4",
    "rl_curves",
    "rl_inference",
]
RL_TABLES = ["rl_table1", "rl_scores", "rl_inference"]

# Table 1 fits HalfCheetah's and Walker2d's sizes, which are the same (docs/differences.md).
RL_TABLE1_TASK = next(
    (task for task in ("halfcheetah", "walker2d") if task in RL_TASKS), RL_TASKS[0]
)

RL_PRODUCTS = sorted(
    {file for name in RL_FIGURES for file in figure_files(name)}
    | {file for name in RL_TABLES for file in table_files(name)}
)


rule rl_figure1:
    """Figure 1: score against sparsity, SNIP."""
    input:
        scores=RL_TRAINED_SCORES,
        datasets=RL_DATASETS,
    output:
        report(
            "results/figures/rl_figure1.svg",
            caption="../resources/captions/rl_figure1.rst",
            category="Offline-RL pruning",
            labels={"product": "Figure 1", "shows": "score against sparsity, SNIP"},
        ),
        figure_files("rl_figure1")[1:],
    log:
        "results/logs/rl_figure1/rl_figure1.log",
    benchmark:
        "results/benchmarks/rl_figure1/rl_figure1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        last_evaluations=RL["evaluation"]["last"],
        scale=SCALE,
        code=code("rl_figure1"),
    script:
        "../workflow_scripts/rl_figure1.py"


rule rl_figure2:
    """Figure 2: score against sparsity, GraSP."""
    input:
        scores=RL_TRAINED_SCORES,
        datasets=RL_DATASETS,
    output:
        report(
            "results/figures/rl_figure2.svg",
            caption="../resources/captions/rl_figure2.rst",
            category="Offline-RL pruning",
            labels={"product": "Figure 2", "shows": "score against sparsity, GraSP"},
        ),
        figure_files("rl_figure2")[1:],
    log:
        "results/logs/rl_figure2/rl_figure2.log",
    benchmark:
        "results/benchmarks/rl_figure2/rl_figure2.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        last_evaluations=RL["evaluation"]["last"],
        scale=SCALE,
        code=code("rl_figure2"),
    script:
        "../workflow_scripts/rl_figure2.py"


rule rl_figure3:
    """Figure 3: weights kept by layer at 95% sparsity."""
    input:
        layers=RL_MEASURED_LAYERS,
    output:
        report(
            "results/figures/rl_figure3.svg",
            caption="../resources/captions/rl_figure3.rst",
            category="Offline-RL pruning",
            labels={"product": "Figure 3", "shows": "weights kept by layer"},
        ),
        figure_files("rl_figure3")[1:],
    log:
        "results/logs/rl_figure3/rl_figure3.log",
    benchmark:
        "results/benchmarks/rl_figure3/rl_figure3.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("rl_figure3"),
    script:
        "../workflow_scripts/rl_figure3.py"


rule rl_figure4:
    """Figure 4: memory against sparsity, dense and sparse."""
    input:
        sizes=RL_MEASURED_SIZES,
        published="resources/published/rl_table1_megabytes.csv",
    output:
        report(
            "results/figures/rl_figure4.svg",
            caption="../resources/captions/rl_figure4.rst",
            category="Offline-RL pruning",
            labels={"product": "Figure 4", "shows": "memory against sparsity"},
        ),
        figure_files("rl_figure4")[1:],
    log:
        "results/logs/rl_figure4/rl_figure4.log",
    benchmark:
        "results/benchmarks/rl_figure4/rl_figure4.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        task=RL_TABLE1_TASK,
        scale=SCALE,
        code=code("rl_figure4"),
    script:
        "../workflow_scripts/rl_figure4.py"


rule rl_table1:
    """Table 1: megabytes of the stored networks, published beside ours."""
    input:
        sizes=RL_MEASURED_SIZES,
        published="resources/published/rl_table1_megabytes.csv",
    output:
        report(
            "results/tables/rl_table1.csv",
            caption="../resources/captions/rl_table1.rst",
            category="Offline-RL pruning",
            labels={"product": "Table 1", "shows": "megabytes of the stored networks"},
        ),
        table_files("rl_table1")[1:],
    log:
        "results/logs/rl_table1/rl_table1.log",
    benchmark:
        "results/benchmarks/rl_table1/rl_table1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        task=RL_TABLE1_TASK,
        scale=SCALE,
        code=code("rl_table1"),
    script:
        "../workflow_scripts/rl_table1.py"


rule rl_curves:
    """Learning curves: score against updates."""
    input:
        scores=RL_TRAINED_SCORES,
    output:
        report(
            "results/figures/rl_curves.svg",
            caption="../resources/captions/rl_curves.rst",
            category="Offline-RL pruning",
            labels={"product": "Learning curves", "shows": "score against updates"},
        ),
        figure_files("rl_curves")[1:],
    log:
        "results/logs/rl_curves/rl_curves.log",
    benchmark:
        "results/benchmarks/rl_curves/rl_curves.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("rl_curves"),
    script:
        "../workflow_scripts/rl_curves.py"


rule rl_scores:
    """Table of scores at 95% sparsity, by method and task."""
    input:
        scores=RL_TRAINED_SCORES,
    output:
        report(
            "results/tables/rl_scores.csv",
            caption="../resources/captions/rl_scores.rst",
            category="Offline-RL pruning",
            labels={"product": "Scores", "shows": "dense and pruned runs"},
        ),
        table_files("rl_scores")[1:],
    log:
        "results/logs/rl_scores/rl_scores.log",
    benchmark:
        "results/benchmarks/rl_scores/rl_scores.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        last_evaluations=RL["evaluation"]["last"],
        scale=SCALE,
        code=code("rl_scores"),
    script:
        "../workflow_scripts/rl_scores.py"


rule rl_inference:
    """Time to act with dense and sparse kernels (beyond the paper)."""
    input:
        latency=[RL_LATENCY],
    output:
        report(
            "results/figures/rl_inference.svg",
            caption="../resources/captions/rl_inference.rst",
            category="Offline-RL pruning",
            labels={"product": "Inference", "shows": "time to act, dense and sparse"},
        ),
        figure_files("rl_inference")[1:],
        table_files("rl_inference")[1:],
    log:
        "results/logs/rl_inference/rl_inference.log",
    benchmark:
        "results/benchmarks/rl_inference/rl_inference.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        task=RL["latency"]["task"],
        scale=SCALE,
        code=code("rl_inference"),
    script:
        "../workflow_scripts/rl_inference.py"
