"""Tables and figures of the audio study, from its tidy files."""

AUDIO_FIGURES = ["audio_figure2", "audio_beyond"]
AUDIO_TABLES = ["audio_table1", "audio_table2", "audio_leaks", "audio_beyond"]
AUDIO_PRODUCTS = sorted(
    {file for name in AUDIO_FIGURES for file in figure_files(name)}
    | {file for name in AUDIO_TABLES for file in table_files(name)}
    | {*AUDIO_SUBMISSIONS, "results/search.html"}
)


rule audio_table1:
    """Table 1: one query for new captions, and its answer."""
    input:
        example="results/audio/captions/example.json",
    output:
        report(
            "results/tables/audio_table1.csv",
            caption="../resources/captions/audio_table1.rst",
            category="Audio retrieval",
            labels={"product": "Table 1", "shows": "a query and its answer"},
        ),
        table_files("audio_table1")[1:],
    log:
        "results/logs/audio_table1/audio_table1.log",
    benchmark:
        "results/benchmarks/audio_table1/audio_table1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        scale=SCALE,
        code=code("audio_table1"),
    script:
        "../workflow_scripts/audio_table1.py"


rule audio_table2:
    """Table 2: retrieval by every system, published beside ours."""
    input:
        metrics="results/audio/metrics.csv",
        ensembles="results/audio/ensembles.csv",
        published="resources/published/audio_table2.csv",
    output:
        report(
            "results/tables/audio_table2.csv",
            caption="../resources/captions/audio_table2.rst",
            category="Audio retrieval",
            labels={"product": "Table 2", "shows": "retrieval by every system"},
        ),
        table_files("audio_table2")[1:],
    log:
        "results/logs/audio_table2/audio_table2.log",
    benchmark:
        "results/benchmarks/audio_table2/audio_table2.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        study=AUDIO_STUDY,
        scale=SCALE,
        code=code("audio_table2"),
    script:
        "../workflow_scripts/audio_table2.py"


rule audio_figure2:
    """Figure 2: validation loss during fine-tuning."""
    input:
        history="results/audio/history.csv",
        metrics="results/audio/metrics.csv",
    output:
        report(
            "results/figures/audio_figure2.svg",
            caption="../resources/captions/audio_figure2.rst",
            category="Audio retrieval",
            labels={
                "product": "Figure 2",
                "shows": "validation loss during fine-tuning",
            },
        ),
        figure_files("audio_figure2")[1:],
    log:
        "results/logs/audio_figure2/audio_figure2.log",
    benchmark:
        "results/benchmarks/audio_figure2/audio_figure2.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        study=AUDIO_STUDY,
        scale=SCALE,
        code=code("audio_figure2"),
    script:
        "../workflow_scripts/audio_figure2.py"


rule audio_leaks:
    """Results with and without leaks, and what was kept out of training."""
    input:
        metrics="results/audio/metrics.csv",
        queries="results/audio/queries.csv",
        clips=AUDIO_CLIPS,
        removed=expand(
            "results/audio/corpora/{corpus}/removed.csv", corpus=AUDIO_CORPORA
        ),
        counts=expand("results/audio/corpora/{corpus}/counts.csv", corpus=AUDIO_CORPORA),
    output:
        report(
            "results/tables/audio_leaks.csv",
            caption="../resources/captions/audio_leaks.rst",
            category="Audio retrieval",
            labels={"product": "Leaks", "shows": "results with and without"},
        ),
        table_files("audio_leaks")[1:],
    log:
        "results/logs/audio_leaks/audio_leaks.log",
    benchmark:
        "results/benchmarks/audio_leaks/audio_leaks.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        exclusions=AUDIO_EXCLUSIONS,
        study=AUDIO_STUDY,
        scale=SCALE,
        code=code("audio_leaks"),
    script:
        "../workflow_scripts/audio_leaks.py"


rule audio_beyond:
    """Beyond the paper: several right clips, held-out combinations, order."""
    input:
        metrics="results/audio/metrics.csv",
    output:
        report(
            "results/figures/audio_beyond.svg",
            caption="../resources/captions/audio_beyond.rst",
            category="Audio retrieval",
            labels={
                "product": "Beyond",
                "shows": "several right clips, held-out combinations, order",
            },
        ),
        figure_files("audio_beyond")[1:],
        table_files("audio_beyond")[1:],
    log:
        "results/logs/audio_beyond/audio_beyond.log",
    benchmark:
        "results/benchmarks/audio_beyond/audio_beyond.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        study=AUDIO_STUDY,
        scale=SCALE,
        code=code("audio_beyond"),
    script:
        "../workflow_scripts/audio_beyond.py"
