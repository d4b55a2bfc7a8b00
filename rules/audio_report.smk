"""Tables and figures of the audio study, from its tidy files."""


rule audio_table1:
    """Table 1: one query for new captions, and its answer."""
    input:
        example="results/audio/captions/example.json",
    output:
        old_table("audio_table1", "Table 1", "a query and its answer"),
    log:
        "results/logs/audio_table1/audio_table1.log",
    benchmark:
        "results/benchmarks/audio_table1/audio_table1.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        scale=SCALE,
        code=code("audio_table1"),
    script:
        "../workflow_scripts/audio/table1.py"


rule audio_table2:
    """Table 2: the scores of all models, as published and of this run; how they were trained."""
    input:
        history="results/audio/history.csv",
        metrics="results/audio/metrics.csv",
        queries="results/audio/queries.csv",
        ensembles="results/audio/ensembles.csv",
        published=shipped("resources/published/audio_table2.csv"),
        paper=shipped("config/paper/audio.yaml"),
    output:
        table2=old_table("audio_table2", "Table 2", "retrieval by every system"),
        training=old_figure(
            "audio_training", "Trainings", "loss and mAP@10 of every pair by epoch"
        ),
    log:
        "results/logs/audio_table2/audio_table2.log",
    benchmark:
        "results/benchmarks/audio_table2/audio_table2.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        study=AUDIO.study,
        scale=SCALE,
        code=code("audio_table2"),
    script:
        "../workflow_scripts/audio/table2.py"


rule audio_figure2:
    """Figure 2: validation loss while the main pair is fine-tuned."""
    input:
        models=AUDIO.models(AUDIO.finetuned_main),
    output:
        old_figure("audio_figure2", "Figure 2", "validation loss during fine-tuning"),
    log:
        "results/logs/audio_figure2/audio_figure2.log",
    benchmark:
        "results/benchmarks/audio_figure2/audio_figure2.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **cluster(),
    params:
        runs=module_param(AUDIO.finetuned_main),
        study=AUDIO.study,
        scale=SCALE,
        code=code("audio_figure2"),
    script:
        "../workflow_scripts/audio/figure2.py"


rule audio_leaks:
    """The main pair pretrained with and without leaks, and the clips that were left out."""
    input:
        models=AUDIO.models(AUDIO.compared_for_leaks),
        clips=AUDIO_CLIPS,
        removed=[f"results/audio/corpora/{name}/removed.csv" for name in AUDIO.corpora],
        counts=[f"results/audio/corpora/{name}/counts.csv" for name in AUDIO.corpora],
    output:
        old_table("audio_leaks", "Leaks", "results with and without them"),
    log:
        "results/logs/audio_leaks/audio_leaks.log",
    benchmark:
        "results/benchmarks/audio_leaks/audio_leaks.tsv"
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(),
    params:
        runs=module_param(AUDIO.compared_for_leaks),
        exclusions=dict(sorted(AUDIO.exclusions.items())),
        study=AUDIO.study,
        scale=SCALE,
        code=code("audio_leaks"),
    script:
        "../workflow_scripts/audio/leaks.py"


ASKED["audio_published"] = AUDIO.published_downloads


rule audio_published:
    """Score published checkpoints on Clotho's evaluation split (config/published.yaml)."""
    input:
        asked=ancient(asked("audio_published")),
        models=expand("results/audio/published/{name}", name=AUDIO.published),
        clips="results/audio/data/clotho/clips.csv",
        captions="results/audio/data/clotho/captions.csv",
        shards="results/audio/shards/clotho",
        published=shipped("resources/published/audio_table2.csv"),
    output:
        old_table("audio_published", "Checkpoints", "published models, scored here"),
    log:
        "results/logs/audio_published/audio_published.log",
    benchmark:
        "results/benchmarks/audio_published/audio_published.tsv"
    conda:
        "../envs/audio.yaml"
    threads: 8
    resources:
        gpu=GPU,
    params:
        names=list(AUDIO.published),
        longest_seconds=AUDIO.longest_seconds,
        device=config["device"],
        scale=SCALE,
        code=code("audio_published"),
    script:
        "../workflow_scripts/audio/published.py"
