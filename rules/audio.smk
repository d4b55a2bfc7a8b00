"""Audio retrieval: training, scores, submissions, the search page, the bench."""


rule audio_pretrain:
    """Pretrain one pair of models on a corpus, and embed what it is judged by."""
    input:
        manifest="results/audio/corpora/{corpus}/manifest.csv",
        captions=AUDIO_CAPTIONS,
        queries="results/audio/data/clotho/queries.csv",
        shards=AUDIO_SHARDS,
        text=audio_text,
        audio_weights=audio_weights,
    output:
        directory("results/audio/models/{pair}/{corpus}/pretrained"),
    log:
        "results/logs/audio_pretrain/{pair}-{corpus}.log",
    benchmark:
        "results/benchmarks/audio_pretrain/{pair}-{corpus}.tsv"
    retries: RETRIES
    conda:
        "../envs/audio.yaml"
    threads: AUDIO_THREADS
    resources:
        **audio_tasks(),
        mem_mb=megabytes(audio_megabytes),
        runtime=minutes(audio_minutes("pretraining")),
    params:
        runs=audio_of("pretrained"),
        audio_model=audio_model,
        model=AUDIO_MODEL,
        training=AUDIO_STAGES["pretraining"],
        text_dropout=AUDIO["model"]["text_dropout"],
        untrained=audio_untrained,
        sources=AUDIO_SOURCES,
        device=config["device"],
        checkpoint="results/checkpoints/audio_pretrain/{pair}-{corpus}",
        code=code("audio_pretrain"),
    script:
        "../workflow_scripts/audio_pretrain.py"


rule audio_finetune:
    """Fine-tune a pretrained pair on Clotho: with human and new captions, from each seed."""
    input:
        manifest="results/audio/corpora/{corpus}/manifest.csv",
        captions=AUDIO_CAPTIONS,
        queries="results/audio/data/clotho/queries.csv",
        shards=AUDIO_SHARDS,
        pretrained="results/audio/models/{pair}/{corpus}/pretrained",
        variations="results/audio/captions/variations.csv",
    output:
        directory("results/audio/models/{pair}/{corpus}/finetuned"),
    log:
        "results/logs/audio_finetune/{pair}-{corpus}.log",
    benchmark:
        "results/benchmarks/audio_finetune/{pair}-{corpus}.tsv"
    retries: RETRIES
    conda:
        "../envs/audio.yaml"
    threads: AUDIO_THREADS
    resources:
        **audio_tasks(),
        mem_mb=megabytes(audio_megabytes),
        runtime=minutes(audio_minutes("finetuning")),
    params:
        runs=audio_of("finetuned"),
        training=AUDIO_STAGES["finetuning"],
        targets=AUDIO_MODEL["targets"],
        sources=AUDIO_SOURCES,
        device=config["device"],
        checkpoint="results/checkpoints/audio_finetune/{pair}-{corpus}",
        code=code("audio_finetune"),
    script:
        "../workflow_scripts/audio_finetune.py"


rule audio_distill:
    """Stage two: train the pretrained pair on the similarities that the ensemble found."""
    input:
        manifest="results/audio/corpora/{corpus}/manifest.csv",
        captions=AUDIO_CAPTIONS,
        queries="results/audio/data/clotho/queries.csv",
        shards=AUDIO_SHARDS,
        pretrained="results/audio/models/{pair}/{corpus}/pretrained",
        teachers=audio_teachers,
    output:
        directory("results/audio/models/{pair}/{corpus}/distilled"),
    log:
        "results/logs/audio_distill/{pair}-{corpus}.log",
    benchmark:
        "results/benchmarks/audio_distill/{pair}-{corpus}.tsv"
    retries: RETRIES
    conda:
        "../envs/audio.yaml"
    threads: AUDIO_THREADS
    resources:
        **audio_tasks(),
        mem_mb=megabytes(audio_megabytes),
        runtime=minutes(audio_minutes("distillation")),
    params:
        runs=audio_of("distilled"),
        teachers=audio_teacher_models,
        training=AUDIO_STAGES["distillation"],
        teacher_temperature=AUDIO["distillation"]["teacher_temperature"],
        sources=AUDIO_SOURCES,
        device=config["device"],
        checkpoint="results/checkpoints/audio_distill/{pair}-{corpus}",
        code=code("audio_distill"),
    script:
        "../workflow_scripts/audio_distill.py"


rule audio_score:
    """Score every model, ensemble and baseline on validation and evaluation."""
    input:
        models=audio_models(AUDIO_SCORED),
        clips="results/audio/data/clotho/clips.csv",
        relevance="results/audio/data/clotho/relevance.csv",
        scenes=audio_scenes_folder(),
    output:
        metrics="results/audio/metrics.csv",
        queries="results/audio/queries.csv",
        ensembles="results/audio/ensembles.csv",
        history="results/audio/history.csv",
    log:
        "results/logs/audio_score/audio_score.log",
    benchmark:
        "results/benchmarks/audio_score/audio_score.tsv"
    conda:
        "../envs/audio.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(8000),
        runtime=minutes(60),
    params:
        runs=audio_records(AUDIO_SCORED),
        members=AUDIO["ensemble"]["members"],
        scenes=audio_scenes(),
        seed=0,
        code=code("audio_score"),
    script:
        "../workflow_scripts/audio_score.py"


rule audio_submit:
    """The four submission files of the challenge."""
    input:
        models=audio_models(AUDIO_SUBMITTED),
        clips="results/audio/data/clotho/clips.csv",
        metrics="results/audio/metrics.csv",
    output:
        tables=AUDIO_SUBMISSIONS,
        about=[name.replace("_output.csv", ".meta.yaml") for name in AUDIO_SUBMISSIONS],
    log:
        "results/logs/audio_submit/audio_submit.log",
    benchmark:
        "results/benchmarks/audio_submit/audio_submit.tsv"
    conda:
        "../envs/audio.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        runs=audio_records(AUDIO_SUBMITTED),
        members=AUDIO["ensemble"]["members"],
        corpus=AUDIO["submitted"],
        evaluated=AUDIO["evaluated"],
        code=code("audio_submit"),
    script:
        "../workflow_scripts/audio_submit.py"


rule audio_search_page:
    """Queries of the test set with the clips that the main model finds: results/search.html."""
    input:
        models=audio_models(AUDIO_SHOWN),
        clips="results/audio/data/clotho/clips.csv",
        captions="results/audio/data/clotho/captions.csv",
        shards="results/audio/shards/clotho",
    output:
        "results/search.html",
    log:
        "results/logs/audio_search_page/audio_search_page.log",
    benchmark:
        "results/benchmarks/audio_search_page/audio_search_page.tsv"
    conda:
        "../envs/audio.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(4000),
        runtime=minutes(30),
    params:
        run=audio_records(AUDIO_SHOWN)[0],
        settings=AUDIO["search_page"],
        scale=SCALE,
        code=code("audio_search_page"),
    script:
        "../workflow_scripts/audio_search_page.py"


rule audio_bench:
    """Front end, model, training step, embedding and loader against plain code."""
    output:
        "results/bench/audio.csv",
    log:
        "results/logs/audio_bench/audio_bench.log",
    benchmark:
        "results/benchmarks/audio_bench/audio_bench.tsv"
    conda:
        "../envs/audio.yaml"
    threads: workflow.cores
    resources:
        mem_mb=megabytes(16000),
        runtime=minutes(60),
        gpu=GPU,
    params:
        bench=AUDIO["bench"],
        device=config["device"],
        code=code("audio_bench"),
    script:
        "../workflow_scripts/audio_bench.py"
