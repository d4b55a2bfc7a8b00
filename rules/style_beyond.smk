"""What the style study shows beyond the paper: choices, training, video, quality, cost."""


rule style_presets:
    """The paper's text, its authors' code and tuned settings."""
    input:
        runs="results/style/optimize/presets/runs.csv",
        history="results/style/optimize/presets/history.csv",
        images="results/style/optimize/presets/images",
        contents=STYLE.experiment_contents("presets"),
        paintings=found(STYLE.experiment_paintings("presets")),
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
    """The networks that this run trained: losses and checkpoints."""
    input:
        losses=STYLE.of_trained("losses.csv"),
        selection=STYLE.of_trained("selection.csv"),
        samples=STYLE.of_trained("samples.png"),
        sheets=STYLE.of_trained("checkpoints.png"),
        shipped=found(STYLE.of_shipped("png")),
    output:
        training=figure("style_training", "Training", "losses of Version 2"),
        checkpoints=figure(
            "style_checkpoints", "Checkpoints", "one photograph through training"
        ),
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


rule style_breakeven:
    """Images after which a network's training has paid."""
    input:
        trained=STYLE.of_trained("losses.csv"),
        shipped=found(STYLE.of_shipped("csv")),
        table1="results/tables/style_table1.csv",
    output:
        table("style_breakeven", "Break-even", "when training has paid"),
    log:
        "results/logs/style_breakeven/style_breakeven.log",
    benchmark:
        "results/benchmarks/style_breakeven/style_breakeven.tsv"
    conda:
        "../envs/report.yaml"
    params:
        scale=SCALE,
        code=code("style_breakeven"),
    script:
        "../workflow_scripts/style/breakeven.py"


rule style_draw_results:
    """Results measured and side by side: every style, Figure 1, initialisations, quality."""
    input:
        quality=["results/style/quality.csv"],
        stylised_runs=STYLE.stylised_runs,
        stylised=STYLE.stylised_images,
        paintings_runs="results/style/optimize/paintings/runs.csv",
        paintings_images="results/style/optimize/paintings/images",
        initialisations_runs="results/style/optimize/initialisations/runs.csv",
        initialisations_images="results/style/optimize/initialisations/images",
        contents=STYLE.experiment_contents(),
        paintings=found(STYLE.all_paintings),
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
