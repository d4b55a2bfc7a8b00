"""The style paper's table and figures, from the study's tidy files; and names of all products."""

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
