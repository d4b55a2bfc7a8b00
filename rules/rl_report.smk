"""Tables and figures of the offline-RL study, from its tidy files."""

from triptych.rl.pruning.methods import METHODS

STACK = "results/rl/{task}/{networks}/{stack}"
PRODUCTS = {
    "rl_figure1": "Figure 1",
    "rl_figure2": "Figure 2",
    "rl_criteria": "Other criteria",
}
SENSORS = ("rl_sensors", "Sensors", "raw and normalised: scores, weights kept by input")
VARIANTS = ("rl_variants", "Variants", "other batches, iterations, data to prune with")


rule rl_draw_scores:
    """What the trained runs scored and sensed: figures, learning curves, methods two by two."""
    input:
        scores=expand(f"{STACK}/scores.csv", zip, **RL.stacks(trained=True)),
        inputs=expand(f"{STACK}/inputs.csv", zip, **RL.stacks(trained=True)),
        datasets=expand("results/rl/{task}/dataset.csv", task=RL.tasks),
    output:
        **{
            name: figure(
                name,
                PRODUCTS[name],
                f"score against sparsity, {', '.join(METHODS[each].label for each in methods)}",
            )
            for name, methods in RL.score_figures.items()
        },
        **{
            name: figure(name, "Curves by sparsity", METHODS[method].label)
            for name, method in RL.level_figures.items()
        },
        **({"sensors": figure(*SENSORS)} if RL.sensing else {}),
        **({"variants": table(*VARIANTS)} if RL.variants else {}),
        curves=figure("rl_curves", "Learning curves", "score against updates"),
        scores=table("rl_scores", "Scores", "dense and pruned runs"),
        comparisons=table("rl_comparisons", "Comparisons", "methods two by two"),
        inputs=table("rl_inputs", "Inputs", "weights kept by input"),
    log:
        "results/logs/rl_draw_scores/rl_draw_scores.log",
    benchmark:
        "results/benchmarks/rl_draw_scores/rl_draw_scores.tsv"
    conda:
        "../envs/report.yaml"
    params:
        figures=RL.score_figures,
        levels=RL.level_figures,
        sensing=RL.sensing,
        variants=RL.variants,
        units=RL.units,
        data=RL.data,
        observations=RL.config["observations"],
        sparsity=RL.config["shown_sparsity"],
        scale=SCALE,
        code=code("rl_draw_scores"),
    script:
        "../workflow_scripts/rl/draw_scores.py"


rule rl_small_data:
    """Scores where data are few, dense and pruned (beyond the paper)."""
    input:
        scores=expand(f"{STACK}/scores.csv", zip, **RL.stacks(trained=True, small=True)),
        datasets=expand("results/rl/{task}/dataset.csv", task=RL.tasks),
    output:
        figure(
            "rl_small_data", "Few data", "score against transitions, dense and pruned"
        ),
    log:
        "results/logs/rl_small_data/rl_small_data.log",
    benchmark:
        "results/benchmarks/rl_small_data/rl_small_data.tsv"
    conda:
        "../envs/report.yaml"
    params:
        units=RL.units,
        data=RL.data,
        scale=SCALE,
        code=code("rl_small_data"),
    script:
        "../workflow_scripts/rl/small_data.py"


rule rl_draw_masks:
    """What the masks leave: Figures 3 and 4, Table 1."""
    input:
        layers=expand(f"{MEASURED}/layers.csv", task=RL.tasks),
        sizes=expand(f"{MEASURED}/sizes.csv", task=RL.tasks),
        published=shipped("resources/published/rl_table1_megabytes.csv"),
    output:
        figure3=figure("rl_figure3", "Figure 3", "weights kept by layer"),
        counts=figure(
            "rl_figure3_counts", "Figure 3 as counts", "weights kept by layer"
        ),
        figure4=figure("rl_figure4", "Figure 4", "memory against sparsity"),
        table1=table("rl_table1", "Table 1", "megabytes of the stored networks"),
    log:
        "results/logs/rl_draw_masks/rl_draw_masks.log",
    benchmark:
        "results/benchmarks/rl_draw_masks/rl_draw_masks.tsv"
    priority: 45  # Table 1, the first table that a run shows
    conda:
        "../envs/report.yaml"
    params:
        task=RL.table1_task,
        observations=RL.config["observations"],
        sparsity=RL.config["shown_sparsity"],
        scale=SCALE,
        code=code("rl_draw_masks"),
    script:
        "../workflow_scripts/rl/draw_masks.py"


rule rl_inference:
    """A table of the time to act, with dense and sparse kernels (beyond the paper)."""
    input:
        latency=f"results/rl/{RL.timed['task']}/latency.csv",
    output:
        table("rl_inference", "Inference", "time to act, dense and sparse"),
    log:
        "results/logs/rl_inference/rl_inference.log",
    benchmark:
        "results/benchmarks/rl_inference/rl_inference.tsv"
    conda:
        "../envs/report.yaml"
    params:
        task=RL.timed["task"],
        scale=SCALE,
        code=code("rl_inference"),
    script:
        "../workflow_scripts/rl/inference.py"
