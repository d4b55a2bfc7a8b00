"""Tables and figures of the offline-RL study, from its tidy files; each waits for its own runs."""

CRITERIA = ("rl_criteria", "Criteria and controls", "score against sparsity")
SENSORS = ("rl_sensors", "Sensors", "raw and normalised: scores, weights kept by input")
VARIED = {run["method"] for run in RL.varied_runs}
SHOWN = {
    "sparsity": RL.config["shown_sparsity"],
    "observations": RL.config["observations"],
}


rule rl_draw_figure1:
    """Figure 1: score against sparsity with SNIP, and the same runs as learning curves."""
    input:
        scores=RL.files("scores.csv", RL.shown(["snip"])),
        datasets=RL.datasets,
    output:
        sparsity=old_figure("rl_figure1", "Figure 1", "score against sparsity, SNIP"),
        curves=old_figure("rl_figure1_curves", "Curves by sparsity", "SNIP"),
    log:
        "results/logs/rl_draw_figure1/rl_draw_figure1.log",
    benchmark:
        "results/benchmarks/rl_draw_figure1/rl_draw_figure1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        **SHOWN,
        scale=SCALE,
        method="snip",
        code=code("rl_draw_figure1"),
    script:
        "../workflow_scripts/rl/draw_figure1.py"


use rule rl_draw_figure1 as rl_draw_figure2 with:
    input:
        scores=RL.files("scores.csv", RL.shown(["grasp"])),
        datasets=RL.datasets,
    output:
        sparsity=old_figure("rl_figure2", "Figure 2", "score against sparsity, GraSP"),
        curves=old_figure("rl_figure2_curves", "Curves by sparsity", "GraSP"),
    log:
        "results/logs/rl_draw_figure2/rl_draw_figure2.log",
    benchmark:
        "results/benchmarks/rl_draw_figure2/rl_draw_figure2.tsv"
    params:
        **SHOWN,
        scale=SCALE,
        method="grasp",
        code=code("rl_draw_figure1"),


rule rl_draw_scores:
    """All methods beside each other: learning curves, scores, methods two by two."""
    input:
        scores=RL.files("scores.csv", RL.shown()),
        datasets=RL.datasets,
    output:
        **({"criteria": old_figure(*CRITERIA)} if RL.compared_criteria else {}),
        curves=old_figure("rl_curves", "Learning curves", "score against updates"),
        scores=old_table("rl_scores", "Scores", "dense and pruned runs"),
        comparisons=old_table("rl_comparisons", "Comparisons", "methods two by two"),
    log:
        "results/logs/rl_draw_scores/rl_draw_scores.log",
    benchmark:
        "results/benchmarks/rl_draw_scores/rl_draw_scores.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        **SHOWN,
        scale=SCALE,
        criteria=RL.compared_criteria,
        code=code("rl_draw_scores"),
    script:
        "../workflow_scripts/rl/draw_scores.py"


rule rl_draw_sensors:
    """What masks let a policy sense: weights kept by input, raw and normalised observations."""
    input:
        scores=RL.files("scores.csv", RL.select(pruning="default")),
        inputs=RL.files("inputs.csv", RL.select(pruning="default")),
        datasets=RL.datasets,
    output:
        **({"sensors": old_figure(*SENSORS)} if RL.sensing else {}),
        inputs=old_table("rl_inputs", "Inputs", "weights kept by input"),
    log:
        "results/logs/rl_draw_sensors/rl_draw_sensors.log",
    benchmark:
        "results/benchmarks/rl_draw_sensors/rl_draw_sensors.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        **SHOWN,
        scale=SCALE,
        sensing=RL.sensing,
        code=code("rl_draw_sensors"),
    script:
        "../workflow_scripts/rl/draw_sensors.py"


rule rl_draw_variants:
    """Other batches, iterations and data to prune with, beside the default pruning."""
    input:
        scores=RL.files("scores.csv", RL.varied_runs + RL.shown(VARIED)),
        datasets=RL.datasets,
    output:
        old_table(
            "rl_variants",
            "Variants",
            "other batches, iterations, data to prune with",
        ),
    log:
        "results/logs/rl_draw_variants/rl_draw_variants.log",
    benchmark:
        "results/benchmarks/rl_draw_variants/rl_draw_variants.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        **SHOWN,
        scale=SCALE,
        variants=RL.variants,
        code=code("rl_draw_variants"),
    script:
        "../workflow_scripts/rl/draw_variants.py"


rule rl_small_data:
    """Scores where data are few, dense and pruned (beyond the paper)."""
    input:
        scores=RL.files("scores.csv", RL.select(small=True)),
        datasets=RL.datasets,
    output:
        old_figure(
            "rl_small_data", "Few data", "score against transitions, dense and pruned"
        ),
    log:
        "results/logs/rl_small_data/rl_small_data.log",
    benchmark:
        "results/benchmarks/rl_small_data/rl_small_data.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        **SHOWN,
        scale=SCALE,
        code=code("rl_small_data"),
    script:
        "../workflow_scripts/rl/small_data.py"


rule rl_draw_masks:
    """Weights kept by layer (Figure 3) and memory against sparsity (Figure 4)."""
    input:
        layers=RL.files("layers.csv", RL.measured()),
    output:
        figure3=old_figure("rl_figure3", "Figure 3", "weights kept by layer"),
        counts=old_figure(
            "rl_figure3_counts", "Figure 3 as counts", "weights kept by layer"
        ),
    log:
        "results/logs/rl_draw_masks/rl_draw_masks.log",
    benchmark:
        "results/benchmarks/rl_draw_masks/rl_draw_masks.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        **SHOWN,
        scale=SCALE,
        task=RL.table1_task,
        code=code("rl_draw_masks"),
    script:
        "../workflow_scripts/rl/draw_masks.py"


table(
    "rl_table1",
    sizes=RL.files("sizes.csv", RL.measured(task=RL.table1_task)),
    published=shipped("resources/published/rl_table1_megabytes.csv"),
    params={**SHOWN, "task": RL.table1_task},
    priority=45,  # the first table that a run shows
)
figure(
    "rl_figure4",
    sizes=RL.files("sizes.csv", RL.measured()),
    published=shipped("resources/published/rl_table1_megabytes.csv"),
    params={**SHOWN, "task": RL.table1_task},
)


rule rl_inference:
    """A table of the time to act, with dense and sparse kernels (beyond the paper)."""
    input:
        latency=f"results/rl/{RL.timed['task']}/latency.csv",
    output:
        old_table("rl_inference", "Inference", "time to act, dense and sparse"),
    log:
        "results/logs/rl_inference/rl_inference.log",
    benchmark:
        "results/benchmarks/rl_inference/rl_inference.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        **SHOWN,
        scale=SCALE,
        code=code("rl_inference"),
    script:
        "../workflow_scripts/rl/inference.py"
