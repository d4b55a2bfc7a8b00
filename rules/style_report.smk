"""The style paper's table and figures, from the study's tidy files."""


rule style_table1:
    """Table I: seconds an image, published beside ours."""
    input:
        timing=["results/style/timing/images.csv"],
        published=shipped("resources/published/style_table1_seconds.csv"),
    output:
        table("style_table1", "Table I", "seconds an image"),
    log:
        "results/logs/style_table1/style_table1.log",
    benchmark:
        "results/benchmarks/style_table1/style_table1.tsv"
    conda:
        "../envs/report.yaml"
    params:
        architectures=STYLE.architectures,
        width=STYLE.config["network"]["width"],
        scale=SCALE,
        code=code("style_table1"),
    script:
        "../workflow_scripts/style/table1.py"


rule style_draw_optimisation:
    """Version 1 by backbone and optimizer: Figures 2, 3, 5 and 6, seconds to a given loss."""
    input:
        runs=STYLE.of_experiments("runs.csv", ("backbones", "optimizers")),
        history=STYLE.of_experiments("history.csv", ("backbones", "optimizers")),
        images=STYLE.of_experiments("images", ("backbones", "optimizers")),
        contents=STYLE.experiment_contents(),
        paintings=found(STYLE.experiment_paintings()),
    output:
        figure2=figure("style_figure2", "Figure 2", "loss history by backbone"),
        figure3=figure("style_figure3", "Figure 3", "results by backbone"),
        figure5=figure("style_figure5", "Figure 5", "loss history by optimizer"),
        figure6=figure("style_figure6", "Figure 6", "results by optimizer"),
        times="results/style/timing/targets.csv",
        targets=table(
            "style_targets", "Time to a loss", "seconds to reach a given loss"
        ),
    log:
        "results/logs/style_draw_optimisation/style_draw_optimisation.log",
    benchmark:
        "results/benchmarks/style_draw_optimisation/style_draw_optimisation.tsv"
    conda:
        "../envs/report.yaml"
    params:
        parts=STYLE.config["timing"]["targets"],
        scale=SCALE,
        code=code("style_draw_optimisation"),
    script:
        "../workflow_scripts/style/draw_optimisation.py"


rule style_figure4:
    """Figure 4: run times by content loss, paired and repeated."""
    input:
        timing=["results/style/timing/losses.csv"],
        runs="results/style/optimize/losses/runs.csv",
        history="results/style/optimize/losses/history.csv",
    output:
        figure("style_figure4", "Figure 4", "run times by content loss"),
    log:
        "results/logs/style_figure4/style_figure4.log",
    benchmark:
        "results/benchmarks/style_figure4/style_figure4.tsv"
    conda:
        "../envs/report.yaml"
    params:
        scale=SCALE,
        code=code("style_figure4"),
    script:
        "../workflow_scripts/style/figure4.py"


rule style_draw_gallery:
    """Version 1 in several styles (Figure 7), and at several sizes."""
    input:
        runs=STYLE.of_experiments("runs.csv", ("paintings", "sizes")),
        images=STYLE.of_experiments("images", ("paintings", "sizes")),
        contents=STYLE.experiment_contents(),
        paintings=found(STYLE.experiment_paintings()),
    output:
        figure7=figure("style_figure7", "Figure 7", "several styles"),
        sizes=figure("style_sizes", "Sizes", "Version 1 by image size"),
    log:
        "results/logs/style_draw_gallery/style_draw_gallery.log",
    benchmark:
        "results/benchmarks/style_draw_gallery/style_draw_gallery.tsv"
    conda:
        "../envs/report.yaml"
    params:
        scale=SCALE,
        code=code("style_draw_gallery"),
    script:
        "../workflow_scripts/style/draw_gallery.py"


rule style_figure8:
    """Figure 8: a large photograph (Version 2)."""
    input:
        **{name: found(file) for name, file in STYLE.large.items()},
        stylised_runs=STYLE.stylised_runs,
    output:
        figure("style_figure8", "Figure 8", "a large photograph"),
    log:
        "results/logs/style_figure8/style_figure8.log",
    benchmark:
        "results/benchmarks/style_figure8/style_figure8.tsv"
    conda:
        "../envs/report.yaml"
    params:
        scale=SCALE,
        code=code("style_figure8"),
    script:
        "../workflow_scripts/style/figure8.py"
