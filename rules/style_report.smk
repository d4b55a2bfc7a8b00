"""What the style study shows: the paper's table and figures, and what goes beyond them."""

PAINTINGS_SHOWN = list(dict.fromkeys([*STYLE.names("painting"), *STYLE.shown]))
LARGE = STYLE.config["stylised"]["large"]


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
    """Version 1 by backbone and optimizer: Figures 2, 3, 5 and 6."""
    input:
        runs=style_experiments("runs.csv", "backbones", "optimizers"),
        history=style_experiments("history.csv", "backbones", "optimizers"),
        images=style_experiments("images", "backbones", "optimizers"),
        contents=style_images("contents"),
        paintings=style_images("paintings"),
    output:
        figure2=figure("style_figure2", "Figure 2", "loss history by backbone"),
        figure3=figure("style_figure3", "Figure 3", "results by backbone"),
        figure5=figure("style_figure5", "Figure 5", "loss history by optimizer"),
        figure6=figure("style_figure6", "Figure 6", "results by optimizer"),
    log:
        "results/logs/style_draw_optimisation/style_draw_optimisation.log",
    benchmark:
        "results/benchmarks/style_draw_optimisation/style_draw_optimisation.tsv"
    conda:
        "../envs/report.yaml"
    params:
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
        runs=style_experiments("runs.csv", "paintings", "sizes"),
        images=style_experiments("images", "paintings", "sizes"),
        contents=style_images("contents"),
        paintings=style_images("paintings"),
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
        result=f"results/style/stylised/{STYLE.main}/{LARGE}.png",
        content=f"results/style/contents/{LARGE}.png",
        painting=f"results/style/paintings/{STYLE.main}.png",
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


rule style_presets:
    """The paper's text, its authors' code and tuned settings."""
    input:
        runs="results/style/optimize/presets/runs.csv",
        history="results/style/optimize/presets/history.csv",
        images="results/style/optimize/presets/images",
        contents=style_images("contents", "presets"),
        paintings=style_images("paintings", "presets"),
    output:
        figure("style_presets", "Presets", "text, code and tuned settings"),
    log:
        "results/logs/style_presets/style_presets.log",
    benchmark:
        "results/benchmarks/style_presets/style_presets.tsv"
    conda:
        "../envs/report.yaml"
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
    params:
        scale=SCALE,
        code=code("style_draw_networks"),
    script:
        "../workflow_scripts/style/draw_networks.py"


rule style_motion:
    """Stylised videos: frames, flicker, speed by batch."""
    input:
        flicker=STYLE.of_videos("flicker.csv"),
        speed=STYLE.of_videos("speed.csv"),
        strips=STYLE.of_videos("strip.png"),
    output:
        figure("style_motion", "Video", "frames, flicker, speed"),
    log:
        "results/logs/style_motion/style_motion.log",
    benchmark:
        "results/benchmarks/style_motion/style_motion.tsv"
    conda:
        "../envs/report.yaml"
    params:
        scale=SCALE,
        code=code("style_motion"),
    script:
        "../workflow_scripts/style/motion.py"


rule style_draw_results:
    """Results measured and side by side: every style, Figure 1, initialisations, quality."""
    input:
        quality=["results/style/quality.csv"],
        stylised_runs=STYLE.stylised_runs,
        stylised=expand(
            "results/style/stylised/{painting}/{content}.png",
            painting=STYLE.shown,
            content=STYLE.shown_contents,
        ),
        paintings_runs="results/style/optimize/paintings/runs.csv",
        paintings_images="results/style/optimize/paintings/images",
        initialisations_runs="results/style/optimize/initialisations/runs.csv",
        initialisations_images="results/style/optimize/initialisations/images",
        contents=style_images("contents"),
        paintings=expand("results/style/paintings/{name}.png", name=PAINTINGS_SHOWN),
    output:
        styles=figure("style_styles", "Styles", "paintings, photographs in each style"),
        figure1=figure("style_figure1", "Figure 1", "both versions side by side"),
        initialisations=figure(
            "style_initialisations", "Initialisations", "results from each start"
        ),
        scores=table("style_scores", "Quality", "structure, edges, texture, colours"),
    log:
        "results/logs/style_draw_results/style_draw_results.log",
    benchmark:
        "results/benchmarks/style_draw_results/style_draw_results.tsv"
    conda:
        "../envs/report.yaml"
    params:
        contents=STYLE.config["stylised"]["contents"],
        painting=STYLE.main,
        scale=SCALE,
        code=code("style_draw_results"),
    script:
        "../workflow_scripts/style/draw_results.py"
