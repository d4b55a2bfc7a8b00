"""What the style study shows beyond the paper: choices, training, video, quality, cost."""


rule style_presets:
    """The paper's text, its authors' code and tuned settings."""
    input:
        runs="results/style/optimize/presets/runs.csv",
        history="results/style/optimize/presets/history.csv",
        images="results/style/optimize/presets/images",
        contents=style_experiment_pictures("contents", "content", "presets"),
        paintings=style_experiment_pictures("paintings", "painting", "presets"),
    output:
        report(
            "results/figures/style_presets.svg",
            caption="../resources/captions/style_presets.rst",
            category="Style transfer",
            labels={"product": "Presets", "shows": "text, code and tuned settings"},
        ),
        figure_files("style_presets")[1:],
    log:
        "results/logs/style_presets/style_presets.log",
    benchmark:
        "results/benchmarks/style_presets/style_presets.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_presets"),
    script:
        "../workflow_scripts/style_presets.py"


rule style_initialisations:
    """Results from each initialisation."""
    input:
        runs="results/style/optimize/initialisations/runs.csv",
        quality="results/style/quality.csv",
        images="results/style/optimize/initialisations/images",
        contents=style_experiment_pictures("contents", "content", "initialisations"),
        paintings=style_experiment_pictures("paintings", "painting", "initialisations"),
    output:
        report(
            "results/figures/style_initialisations.svg",
            caption="../resources/captions/style_initialisations.rst",
            category="Style transfer",
            labels={"product": "Initialisations", "shows": "results from each start"},
        ),
        figure_files("style_initialisations")[1:],
    log:
        "results/logs/style_initialisations/style_initialisations.log",
    benchmark:
        "results/benchmarks/style_initialisations/style_initialisations.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_initialisations"),
    script:
        "../workflow_scripts/style_initialisations.py"


rule style_training:
    """Losses of the networks that this run trained."""
    input:
        losses=style_variants(
            "results/style/networks/{painting}/{variant}/losses.csv", STYLE_TRAINED
        ),
        selection=style_variants(
            "results/style/networks/{painting}/{variant}/selection.csv", STYLE_TRAINED
        ),
        samples=style_variants(
            "results/style/networks/{painting}/{variant}/samples.png", STYLE_TRAINED
        ),
    output:
        report(
            "results/figures/style_training.svg",
            caption="../resources/captions/style_training.rst",
            category="Style transfer",
            labels={"product": "Training", "shows": "losses of Version 2"},
        ),
        figure_files("style_training")[1:],
    log:
        "results/logs/style_training/style_training.log",
    benchmark:
        "results/benchmarks/style_training/style_training.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_training"),
    script:
        "../workflow_scripts/style_training.py"


rule style_checkpoints:
    """One photograph through all checkpoints."""
    input:
        selection=style_variants(
            "results/style/networks/{painting}/{variant}/selection.csv", STYLE_TRAINED
        ),
        trained=style_variants(
            "results/style/networks/{painting}/{variant}/checkpoints.png",
            STYLE_TRAINED,
        ),
        shipped=style_shipped("png"),
    output:
        report(
            "results/figures/style_checkpoints.svg",
            caption="../resources/captions/style_checkpoints.rst",
            category="Style transfer",
            labels={
                "product": "Checkpoints",
                "shows": "one photograph through training",
            },
        ),
        figure_files("style_checkpoints")[1:],
    log:
        "results/logs/style_checkpoints/style_checkpoints.log",
    benchmark:
        "results/benchmarks/style_checkpoints/style_checkpoints.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_checkpoints"),
    script:
        "../workflow_scripts/style_checkpoints.py"


rule style_motion:
    """Stylised videos: frames, flicker, speed by batch."""
    input:
        flicker=style_videos("flicker.csv"),
        speed=style_videos("speed.csv"),
        strips=style_videos("strip.png"),
    output:
        report(
            "results/figures/style_motion.svg",
            caption="../resources/captions/style_motion.rst",
            category="Style transfer",
            labels={"product": "Video", "shows": "frames, flicker, speed"},
        ),
        figure_files("style_motion")[1:],
    log:
        "results/logs/style_motion/style_motion.log",
    benchmark:
        "results/benchmarks/style_motion/style_motion.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_motion"),
    script:
        "../workflow_scripts/style_motion.py"


rule style_scores:
    """Quality of every result, without downloads."""
    input:
        quality=["results/style/quality.csv"],
        stylised_runs=STYLE_STYLISED_RUNS,
    output:
        report(
            "results/tables/style_scores.csv",
            caption="../resources/captions/style_scores.rst",
            category="Style transfer",
            labels={
                "product": "Quality",
                "shows": "structure, edges, texture, colours",
            },
        ),
        table_files("style_scores")[1:],
    log:
        "results/logs/style_scores/style_scores.log",
    benchmark:
        "results/benchmarks/style_scores/style_scores.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_scores"),
    script:
        "../workflow_scripts/style_scores.py"


rule style_targets:
    """Seconds to reach a given loss."""
    input:
        targets=["results/style/timing/targets.csv"],
    output:
        report(
            "results/tables/style_targets.csv",
            caption="../resources/captions/style_targets.rst",
            category="Style transfer",
            labels={
                "product": "Time to a loss",
                "shows": "seconds to reach a given loss",
            },
        ),
        table_files("style_targets")[1:],
    log:
        "results/logs/style_targets/style_targets.log",
    benchmark:
        "results/benchmarks/style_targets/style_targets.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_targets"),
    script:
        "../workflow_scripts/style_targets.py"


rule style_breakeven:
    """Images after which a network's training has paid."""
    input:
        trained=style_variants(
            "results/style/networks/{painting}/{variant}/losses.csv", STYLE_TRAINED
        ),
        shipped=style_shipped("csv"),
        table1="results/tables/style_table1.csv",
    output:
        report(
            "results/tables/style_breakeven.csv",
            caption="../resources/captions/style_breakeven.rst",
            category="Style transfer",
            labels={"product": "Break-even", "shows": "when training has paid"},
        ),
        table_files("style_breakeven")[1:],
    log:
        "results/logs/style_breakeven/style_breakeven.log",
    benchmark:
        "results/benchmarks/style_breakeven/style_breakeven.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_breakeven"),
    script:
        "../workflow_scripts/style_breakeven.py"
