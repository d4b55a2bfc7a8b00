"""Tables and figures of the style study, from its tidy files."""

STYLE_FIGURES = [
    *(f"style_figure{number}" for number in range(1, 9)),
    "style_presets",
    "style_initialisations",
    "style_training",
    "style_checkpoints",
    "style_motion",
]
STYLE_TABLES = ["style_table1", "style_scores", "style_targets", "style_breakeven"]
STYLE_PRODUCTS = sorted(
    {file for name in STYLE_FIGURES for file in figure_files(name)}
    | {file for name in STYLE_TABLES for file in table_files(name)}
)
STYLE_STYLISED_RUNS = [
    f"results/style/stylised/{painting}/runs.csv" for painting in STYLE_SHOWN
]
STYLE_STYLISED_IMAGES = [
    f"results/style/stylised/{painting}/{content}.png"
    for painting in STYLE_SHOWN
    for content in STYLE_SHOWN_CONTENTS
]
STYLE_LARGE_CONTENT = f"results/style/contents/{STYLE['stylised']['large']}.png"
STYLE_LARGE_PAINTING = f"results/style/paintings/{STYLE_NETWORKS['main']}.png"
STYLE_LARGE_RESULT = (
    f"results/style/stylised/{STYLE_NETWORKS['main']}/{STYLE['stylised']['large']}.png"
)


rule style_table1:
    """Table I: seconds an image, published beside ours."""
    input:
        timing=["results/style/timing/images.csv"],
        published="resources/published/style_table1_seconds.csv",
    output:
        report(
            "results/tables/style_table1.csv",
            caption="../resources/captions/style_table1.rst",
            category="Style transfer",
            labels={"product": "Table I", "shows": "seconds an image"},
        ),
        table_files("style_table1")[1:],
    log:
        "results/logs/style_table1/style_table1.log",
    benchmark:
        "results/benchmarks/style_table1/style_table1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        architectures=style_architectures(),
        width=STYLE["network"]["width"],
        scale=SCALE,
        code=code("style_table1"),
    script:
        "../workflow_scripts/style_table1.py"


rule style_figure1:
    """Figure 1: both versions of one photograph and style."""
    input:
        runs="results/style/optimize/paintings/runs.csv",
        stylised_runs=STYLE_STYLISED_RUNS,
        quality="results/style/quality.csv",
        images="results/style/optimize/paintings/images",
        stylised=STYLE_STYLISED_IMAGES,
        contents=style_experiment_pictures("contents", "content", "paintings"),
        paintings=style_experiment_pictures("paintings", "painting", "paintings"),
    output:
        report(
            "results/figures/style_figure1.svg",
            caption="../resources/captions/style_figure1.rst",
            category="Style transfer",
            labels={"product": "Figure 1", "shows": "both versions side by side"},
        ),
        figure_files("style_figure1")[1:],
    log:
        "results/logs/style_figure1/style_figure1.log",
    benchmark:
        "results/benchmarks/style_figure1/style_figure1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        content=STYLE["stylised"]["contents"][0],
        painting=STYLE_NETWORKS["main"],
        scale=SCALE,
        code=code("style_figure1"),
    script:
        "../workflow_scripts/style_figure1.py"


rule style_figure2:
    """Figure 2: loss history by backbone."""
    input:
        history="results/style/optimize/backbones/history.csv",
        runs="results/style/optimize/backbones/runs.csv",
    output:
        report(
            "results/figures/style_figure2.svg",
            caption="../resources/captions/style_figure2.rst",
            category="Style transfer",
            labels={"product": "Figure 2", "shows": "loss history by backbone"},
        ),
        figure_files("style_figure2")[1:],
    log:
        "results/logs/style_figure2/style_figure2.log",
    benchmark:
        "results/benchmarks/style_figure2/style_figure2.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_figure2"),
    script:
        "../workflow_scripts/style_figure2.py"


rule style_figure3:
    """Figure 3: results by backbone."""
    input:
        runs="results/style/optimize/backbones/runs.csv",
        images="results/style/optimize/backbones/images",
        contents=style_experiment_pictures("contents", "content", "backbones"),
        paintings=style_experiment_pictures("paintings", "painting", "backbones"),
    output:
        report(
            "results/figures/style_figure3.svg",
            caption="../resources/captions/style_figure3.rst",
            category="Style transfer",
            labels={"product": "Figure 3", "shows": "results by backbone"},
        ),
        figure_files("style_figure3")[1:],
    log:
        "results/logs/style_figure3/style_figure3.log",
    benchmark:
        "results/benchmarks/style_figure3/style_figure3.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_figure3"),
    script:
        "../workflow_scripts/style_figure3.py"


rule style_figure4:
    """Figure 4: run times by content loss, paired and repeated."""
    input:
        timing=["results/style/timing/losses.csv"],
        runs="results/style/optimize/losses/runs.csv",
        history="results/style/optimize/losses/history.csv",
    output:
        report(
            "results/figures/style_figure4.svg",
            caption="../resources/captions/style_figure4.rst",
            category="Style transfer",
            labels={"product": "Figure 4", "shows": "run times by content loss"},
        ),
        figure_files("style_figure4")[1:],
    log:
        "results/logs/style_figure4/style_figure4.log",
    benchmark:
        "results/benchmarks/style_figure4/style_figure4.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_figure4"),
    script:
        "../workflow_scripts/style_figure4.py"


rule style_figure5:
    """Figure 5: loss history by optimizer."""
    input:
        history="results/style/optimize/optimizers/history.csv",
        runs="results/style/optimize/optimizers/runs.csv",
    output:
        report(
            "results/figures/style_figure5.svg",
            caption="../resources/captions/style_figure5.rst",
            category="Style transfer",
            labels={"product": "Figure 5", "shows": "loss history by optimizer"},
        ),
        figure_files("style_figure5")[1:],
    log:
        "results/logs/style_figure5/style_figure5.log",
    benchmark:
        "results/benchmarks/style_figure5/style_figure5.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_figure5"),
    script:
        "../workflow_scripts/style_figure5.py"


rule style_figure6:
    """Figure 6: results by optimizer."""
    input:
        runs="results/style/optimize/optimizers/runs.csv",
        images="results/style/optimize/optimizers/images",
        contents=style_experiment_pictures("contents", "content", "optimizers"),
        paintings=style_experiment_pictures("paintings", "painting", "optimizers"),
    output:
        report(
            "results/figures/style_figure6.svg",
            caption="../resources/captions/style_figure6.rst",
            category="Style transfer",
            labels={"product": "Figure 6", "shows": "results by optimizer"},
        ),
        figure_files("style_figure6")[1:],
    log:
        "results/logs/style_figure6/style_figure6.log",
    benchmark:
        "results/benchmarks/style_figure6/style_figure6.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_figure6"),
    script:
        "../workflow_scripts/style_figure6.py"


rule style_figure7:
    """Figure 7: one photograph in several styles (Version 1)."""
    input:
        runs="results/style/optimize/paintings/runs.csv",
        images="results/style/optimize/paintings/images",
        contents=style_experiment_pictures("contents", "content", "paintings"),
        paintings=style_experiment_pictures("paintings", "painting", "paintings"),
    output:
        report(
            "results/figures/style_figure7.svg",
            caption="../resources/captions/style_figure7.rst",
            category="Style transfer",
            labels={"product": "Figure 7", "shows": "several styles"},
        ),
        figure_files("style_figure7")[1:],
    log:
        "results/logs/style_figure7/style_figure7.log",
    benchmark:
        "results/benchmarks/style_figure7/style_figure7.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_figure7"),
    script:
        "../workflow_scripts/style_figure7.py"


rule style_figure8:
    """Figure 8: a large photograph (Version 2)."""
    input:
        stylised_runs=STYLE_STYLISED_RUNS,
        result=STYLE_LARGE_RESULT,
        content=STYLE_LARGE_CONTENT,
        painting=STYLE_LARGE_PAINTING,
    output:
        report(
            "results/figures/style_figure8.svg",
            caption="../resources/captions/style_figure8.rst",
            category="Style transfer",
            labels={"product": "Figure 8", "shows": "a large photograph"},
        ),
        figure_files("style_figure8")[1:],
    log:
        "results/logs/style_figure8/style_figure8.log",
    benchmark:
        "results/benchmarks/style_figure8/style_figure8.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("style_figure8"),
    script:
        "../workflow_scripts/style_figure8.py"


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
