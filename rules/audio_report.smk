"""Tables and figures of the audio study, from its tidy files."""


rule audio_table1:
    """Table 1: one query for new captions, and its answer."""
    input:
        example="results/audio/captions/example.json",
    output:
        table("audio_table1", "Table 1", "a query and its answer"),
    log:
        "results/logs/audio_table1/audio_table1.log",
    benchmark:
        "results/benchmarks/audio_table1/audio_table1.tsv"
    conda:
        "../envs/report.yaml"
    params:
        scale=SCALE,
        code=code("audio_table1"),
    script:
        "../workflow_scripts/audio/table1.py"


rule audio_draw_scores:
    """What the models scored: Table 2, Figure 2, leaks, and beyond the paper."""
    input:
        metrics="results/audio/metrics.csv",
        queries="results/audio/queries.csv",
        history="results/audio/history.csv",
        ensembles="results/audio/ensembles.csv",
        subsets="results/audio/subsets.csv",
        clips=AUDIO_CLIPS,
        removed=[f"results/audio/corpora/{each}/removed.csv" for each in AUDIO.corpora],
        counts=[f"results/audio/corpora/{each}/counts.csv" for each in AUDIO.corpora],
        published=shipped("resources/published/audio_table2.csv"),
    output:
        table2=table("audio_table2", "Table 2", "retrieval by every system"),
        ensembles=table(
            "audio_ensembles", "Ensembles", "every other ensemble of these models"
        ),
        figure2=figure(
            "audio_figure2", "Figure 2", "validation loss during fine-tuning"
        ),
        leaks=table("audio_leaks", "Leaks", "results with and without them"),
        beyond=[
            *figure(
                "audio_beyond",
                "Beyond",
                "several right clips, held-out combinations, order",
            ),
            *table_files("audio_beyond")[1:],
        ],
    log:
        "results/logs/audio_draw_scores/audio_draw_scores.log",
    benchmark:
        "results/benchmarks/audio_draw_scores/audio_draw_scores.tsv"
    conda:
        "../envs/report.yaml"
    params:
        exclusions=AUDIO.exclusions,
        study=AUDIO.study,
        scale=SCALE,
        code=code("audio_draw_scores"),
    script:
        "../workflow_scripts/audio/draw_scores.py"
