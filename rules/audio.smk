"""Audio retrieval: training, scores, submissions, the search page."""


include: "audio_inputs.smk"
include: "audio_report.smk"


rule audio:
    """Text-to-audio retrieval (Primus et al. 2023): its tables, figure, submissions, search page."""
    input:
        products("audio"),
        ON_PAGE["audio_links"],
        asked("audio"),
        AUDIO.inputs.own_counts,


rule audio_pretrain:
    """Pretrain one pair of models on a corpus, and embed what it is judged by."""
    input:
        manifest="results/audio/corpora/{corpus}/manifest.csv",
        captions=AUDIO_CAPTIONS,
        queries="results/audio/data/clotho/queries.csv",
        shards=AUDIO_SHARDS,
        text=lambda wildcards: f"results/audio/text/{wildcards.pair.split('-')[1]}",
        audio_weights=AUDIO.audio_weights,
    output:
        directory("results/audio/models/{pair}/{corpus}/pretrained"),
    log:
        "results/logs/audio_pretrain/{pair}-{corpus}.log",
    benchmark:
        "results/benchmarks/audio_pretrain/{pair}-{corpus}.tsv"
    priority: 20
    retries: RETRIES
    conda:
        "../envs/audio.yaml"
    threads: 1 + machine_of(AUDIO.config, "pretraining")["workers"]
    resources:
        **cluster(mem_mb=26000, minutes=2880),
        **machine_of(AUDIO.config, "pretraining"),
        gpu=GPU,
    params:
        runs=module_param(AUDIO.rows("pretrained")),
        audio_model=lambda w: AUDIO.config["audio_models"][w.pair.split("-")[0]],
        model=AUDIO.config["model"],
        training=lambda w: training_of(AUDIO.config, w.corpus, "pretraining"),
        untrained=AUDIO.untrained,
        audiocaps_captions=lambda w: AUDIO.config["corpora"][w.corpus].get(
            "audiocaps_captions", "all"
        ),
        sources=AUDIO.inputs.sources,
        device=config["device"],
        checkpoint=module_param("results/checkpoints/audio_pretrain/{pair}-{corpus}"),
        # Curves of every run, to be looked at while it trains.
        shown=module_param("results/audio/models/{pair}/{corpus}/training"),
        code=code("audio_pretrain", AUDIO.encoders),
    script:
        "../workflow_scripts/audio/pretrain.py"


rule audio_finetune:
    """Fine-tune a pretrained pair on Clotho: with human and new captions, from each seed."""
    input:
        manifest="results/audio/corpora/{corpus}/manifest.csv",
        captions=AUDIO_CAPTIONS,
        queries="results/audio/data/clotho/queries.csv",
        shards=AUDIO_SHARDS,
        pretrained="results/audio/models/{pair}/{corpus}/pretrained",
        variations=lambda w: AUDIO.variations(w.corpus),
    output:
        directory("results/audio/models/{pair}/{corpus}/finetuned"),
    log:
        "results/logs/audio_finetune/{pair}-{corpus}.log",
    benchmark:
        "results/benchmarks/audio_finetune/{pair}-{corpus}.tsv"
    priority: 20
    retries: RETRIES
    conda:
        "../envs/audio.yaml"
    threads: 1 + machine_of(AUDIO.config, "finetuning")["workers"]
    resources:
        **cluster(mem_mb=26000, minutes=240),
        **machine_of(AUDIO.config, "finetuning"),
        gpu=GPU,
    params:
        runs=module_param(AUDIO.rows("finetuned")),
        training=lambda w: training_of(AUDIO.config, w.corpus, "finetuning"),
        targets=AUDIO.config["model"]["targets"],
        sources=AUDIO.inputs.sources,
        device=config["device"],
        checkpoint=module_param("results/checkpoints/audio_finetune/{pair}-{corpus}"),
        # Curves of every run, to be looked at while it trains.
        shown=module_param("results/audio/models/{pair}/{corpus}/training"),
        code=code("audio_finetune", AUDIO.encoders),
    script:
        "../workflow_scripts/audio/finetune.py"


rule audio_score:
    """Score every model, ensemble and baseline on validation and evaluation."""
    input:
        models=AUDIO.models(AUDIO.scored),
        clips="results/audio/data/clotho/clips.csv",
        scenes=SYNTHESISED if AUDIO.inputs.synthesised else [],
    output:
        metrics="results/audio/metrics.csv",
        queries="results/audio/queries.csv",
        ensembles="results/audio/ensembles.csv",
        subsets="results/audio/subsets.csv",
        history="results/audio/history.csv",
    log:
        "results/logs/audio_score/audio_score.log",
    benchmark:
        "results/benchmarks/audio_score/audio_score.tsv"
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(mem_mb=8000, minutes=60),
    params:
        runs=module_param(AUDIO.scored),
        members=AUDIO.config["ensemble"]["members"],
        scenes=(
            module_param(f"{SYNTHESISED}/scenes.csv")
            if AUDIO.inputs.synthesised
            else None
        ),
        code=code("audio_score"),
    script:
        "../workflow_scripts/audio/score.py"


rule audio_submit:
    """The four submission files of the challenge."""
    input:
        models=AUDIO.models(AUDIO.submitted),
        clips="results/audio/data/clotho/clips.csv",
    output:
        AUDIO.submissions,
    log:
        "results/logs/audio_submit/audio_submit.log",
    benchmark:
        "results/benchmarks/audio_submit/audio_submit.tsv"
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(SECONDS),
    params:
        runs=module_param(AUDIO.submitted),
        members=AUDIO.config["ensemble"]["members"],
        corpus=AUDIO.config["submitted"],
        code=code("audio_submit"),
    script:
        "../workflow_scripts/audio/submit.py"


rule audio_search_page:
    """Queries of the test set with the clips that the main model finds: results/search.html."""
    input:
        models=AUDIO.models([AUDIO.page_run]),
        clips="results/audio/data/clotho/clips.csv",
        captions="results/audio/data/clotho/captions.csv",
        shards="results/audio/shards/clotho",
        templates=[
            shipped(f"workflow_scripts/triptych/audio/search/templates/{name}")
            for name in ("search.html.j2", "clip.html.j2", "search.css")
        ],
        style=shipped("workflow_scripts/triptych/report/templates/style.css"),
    output:
        "results/search.html",
    log:
        "results/logs/audio_search_page/audio_search_page.log",
    benchmark:
        "results/benchmarks/audio_search_page/audio_search_page.tsv"
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(SECONDS),
    params:
        run=module_param(AUDIO.page_run),
        settings=AUDIO.config["search_page"],
        scale=SCALE,
        code=code("audio_search_page"),
    script:
        "../workflow_scripts/audio/search_page.py"
