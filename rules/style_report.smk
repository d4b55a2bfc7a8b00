"""Tables and figures of the style study: the paper's, and what goes beyond them."""

PHOTOGRAPH = STYLE.config["stylised"]["contents"][0]
LARGE = STYLE.config["stylised"]["large"]


rule style_table1:
    """Table I: seconds an image, published beside ours."""
    input:
        timing=["results/style/timing/images.csv"],
        published=shipped("resources/published/style_table1_seconds.csv"),
        paper=shipped("config/paper/style.yaml"),
    output:
        table("style_table1", "Table I", "seconds an image"),
    log:
        "results/logs/style_table1/style_table1.log",
    benchmark:
        "results/benchmarks/style_table1/style_table1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        architectures=STYLE.architectures,
        width=STYLE.config["network"]["width"],
        scale=SCALE,
        code=code("style_table1"),
    script:
        "../workflow_scripts/style/table1.py"


rule style_draw_backbones:
    """Version 1 by backbone: Figures 2 and 3."""
    input:
        **figure_inputs("backbones"),
    output:
        figure2=figure("style_figure2", "Figure 2", "loss history by backbone"),
        figure3=figure("style_figure3", "Figure 3", "results by backbone"),
    log:
        "results/logs/style_draw_backbones/style_draw_backbones.log",
    benchmark:
        "results/benchmarks/style_draw_backbones/style_draw_backbones.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_draw_backbones"),
    script:
        "../workflow_scripts/style/draw_backbones.py"


rule style_draw_optimizers:
    """Version 1 by optimizer: Figures 5 and 6."""
    input:
        **figure_inputs("optimizers"),
    output:
        figure5=figure("style_figure5", "Figure 5", "loss history by optimizer"),
        figure6=figure("style_figure6", "Figure 6", "results by optimizer"),
    log:
        "results/logs/style_draw_optimizers/style_draw_optimizers.log",
    benchmark:
        "results/benchmarks/style_draw_optimizers/style_draw_optimizers.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_draw_optimizers"),
    script:
        "../workflow_scripts/style/draw_optimizers.py"


rule style_figure4:
    """Figure 4: run times by content loss, paired and repeated."""
    input:
        timing=["results/style/timing/losses.csv"],
        runs=style_experiments("runs.csv", STYLE.shown_with("losses")),
        history=style_experiments("history.csv", STYLE.shown_with("losses")),
    output:
        figure("style_figure4", "Figure 4", "run times by content loss"),
    log:
        "results/logs/style_figure4/style_figure4.log",
    benchmark:
        "results/benchmarks/style_figure4/style_figure4.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_figure4"),
    script:
        "../workflow_scripts/style/figure4.py"


rule style_figure7:
    """Figure 7: one photograph in several styles by Version 1."""
    input:
        **figure_inputs("paintings"),
    output:
        figure("style_figure7", "Figure 7", "several styles"),
    log:
        "results/logs/style_figure7/style_figure7.log",
    benchmark:
        "results/benchmarks/style_figure7/style_figure7.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_figure7"),
    script:
        "../workflow_scripts/style/figure7.py"


rule style_figure8:
    """Figure 8: a large photograph (Version 2)."""
    input:
        result=f"results/style/stylised/{STYLE.main}/{LARGE}.png",
        content=f"results/style/contents/{LARGE}.png",
        painting=f"results/style/paintings/{STYLE.main}.png",
        stylised_runs=[f"results/style/stylised/{STYLE.main}/runs.csv"],
    output:
        figure("style_figure8", "Figure 8", "a large photograph"),
    log:
        "results/logs/style_figure8/style_figure8.log",
    benchmark:
        "results/benchmarks/style_figure8/style_figure8.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_figure8"),
    script:
        "../workflow_scripts/style/figure8.py"


rule style_presets:
    """The paper's text, its authors' code and tuned settings."""
    input:
        **figure_inputs("presets"),
    output:
        figure("style_presets", "Presets", "text, code and tuned settings"),
    log:
        "results/logs/style_presets/style_presets.log",
    benchmark:
        "results/benchmarks/style_presets/style_presets.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_presets"),
    script:
        "../workflow_scripts/style/presets.py"


rule style_draw_networks:
    """The networks that this run trained: their losses."""
    input:
        losses=style_trained("losses.csv"),
        selection=style_trained("selection.csv"),
        samples=style_trained("samples.png"),
    output:
        figure("style_training", "Training", "losses of Version 2"),
    log:
        "results/logs/style_draw_networks/style_draw_networks.log",
    benchmark:
        "results/benchmarks/style_draw_networks/style_draw_networks.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_draw_networks"),
    script:
        "../workflow_scripts/style/draw_networks.py"


rule style_styles:
    """Version 2 in every style: paintings and photographs."""
    input:
        stylised_runs=STYLE.stylised_runs,
        stylised=expand(
            "results/style/stylised/{painting}/{content}.png",
            painting=STYLE.shown,
            content=STYLE.shown_contents,
        ),
        paintings=expand("results/style/paintings/{name}.png", name=STYLE.shown),
    output:
        figure("style_styles", "Styles", "paintings, photographs in each style"),
    log:
        "results/logs/style_styles/style_styles.log",
    benchmark:
        "results/benchmarks/style_styles/style_styles.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        contents=STYLE.config["stylised"]["contents"],
        scale=SCALE,
        code=code("style_styles"),
    script:
        "../workflow_scripts/style/styles.py"


rule style_figure1:
    """Figure 1: both versions of one photograph and painting side by side."""
    input:
        runs="results/style/optimize/paintings/runs.csv",
        images="results/style/optimize/paintings/images",
        stylised_runs=[f"results/style/stylised/{STYLE.main}/runs.csv"],
        stylised=f"results/style/stylised/{STYLE.main}/{PHOTOGRAPH}.png",
        quality=[
            "results/style/quality/optimize/paintings.csv",
            f"results/style/quality/stylised/{STYLE.main}.csv",
        ],
        content=f"results/style/contents/{PHOTOGRAPH}.png",
        painting=f"results/style/paintings/{STYLE.main}.png",
    output:
        figure("style_figure1", "Figure 1", "both versions side by side"),
    log:
        "results/logs/style_figure1/style_figure1.log",
    benchmark:
        "results/benchmarks/style_figure1/style_figure1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_figure1"),
    script:
        "../workflow_scripts/style/figure1.py"


rule style_initialisations:
    """Version 1 from each initialisation."""
    input:
        **figure_inputs("initialisations"),
        quality=expand(
            "results/style/quality/optimize/{name}.csv",
            name=STYLE.shown_with("initialisations"),
        ),
    output:
        figure("style_initialisations", "Initialisations", "results from each start"),
    log:
        "results/logs/style_initialisations/style_initialisations.log",
    benchmark:
        "results/benchmarks/style_initialisations/style_initialisations.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_initialisations"),
    script:
        "../workflow_scripts/style/initialisations.py"


rule style_scores:
    """The quality of every result."""
    input:
        quality=STYLE.quality,
        stylised_runs=STYLE.stylised_runs,
    output:
        table("style_scores", "Quality", "structure, edges, texture, colours"),
    log:
        "results/logs/style_scores/style_scores.log",
    benchmark:
        "results/benchmarks/style_scores/style_scores.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("style_scores"),
    script:
        "../workflow_scripts/style/scores.py"
