"""What the audio study starts from: recordings, captions, lists of leaks, weights of others."""

from triptych.audio.experiments import machine_of, training_of
from triptych.audio.inputs import DOWNLOADED, DOWNLOADS, SOUND, SYNTHESISED

AUDIO = STUDIES["audio"]
KEEP, DATASETS = AUDIO.config["keep_downloads"], AUDIO.inputs.datasets
AUDIO_CLIPS = expand("results/audio/data/{dataset}/clips.csv", dataset=DATASETS)
AUDIO_CAPTIONS = expand("results/audio/data/{dataset}/captions.csv", dataset=DATASETS)
AUDIO_SHARDS = expand("results/audio/shards/{dataset}", dataset=DATASETS)
CLOTHO = AUDIO.inputs.places("clotho")


wildcard_constraints:
    dataset="clotho|audiocaps|wavcaps",
    corpus="[a-z][a-z0-9_]*",
    pair="[a-z][a-z0-9_]*-[a-z][a-z0-9_]*",
    text_model="[a-z][a-z0-9_]*",
    checkpoint="[a-z][a-z0-9_]*",


rule audio_synthesise:
    """Make the demo's sound scenes, in the layouts of the real sources."""
    input:
        words=shipped("workflow_scripts/triptych/demo/scenes/words.yaml"),
    output:
        directory(SYNTHESISED),
    log:
        "results/logs/audio_synthesise/audio_synthesise.log",
    benchmark:
        "results/benchmarks/audio_synthesise/audio_synthesise.tsv"
    priority: 20  # the first of the longest chain of jobs
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(),
    params:
        settings=AUDIO.config["synthesis"],
        code=code("audio_synthesise"),
    script:
        "../workflow_scripts/audio/synthesise.py"


rule audio_download:
    """Download one file of the audio study's sources, checked."""
    input:
        counted=ancient(AUDIO.inputs.counted_before),
    output:
        temp_unless(KEEP, f"{DOWNLOADS}/{{set}}/{{file}}"),
    log:
        "results/logs/audio_download/{set}-{file}.log",
    benchmark:
        "results/benchmarks/audio_download/{set}-{file}.tsv"
    wildcard_constraints:
        set="|".join(DOWNLOADED),
        file=AUDIO.inputs.downloaded_files,
    priority: 80
    retries: RETRIES
    localrule: True
    conda:
        "../envs/download.yaml"
    params:
        url=AUDIO.inputs.download("url"),
        size=AUDIO.inputs.download("size"),
        md5=AUDIO.inputs.download("md5"),
        sha256=AUDIO.inputs.download("sha256"),
        mirrors=AUDIO.inputs.mirrors,
        lock=lambda wildcards: f"resources/locks/{wildcards.set}-{Path(wildcards.file).name}.json",
        code=code("audio_download"),
    script:
        "../workflow_scripts/audio/download.py"


rule audio_download_wavcaps:
    """Download one part of WavCaps' recordings, archive by archive, as the hub lists them."""
    input:
        counted=ancient("results/inputs/audio/wavcaps.csv"),
    output:
        temp_unless(KEEP, directory(f"{DOWNLOADS}/wavcaps/Zip_files/{{part}}")),
    log:
        "results/logs/audio_download_wavcaps/{part}.log",
    benchmark:
        "results/benchmarks/audio_download_wavcaps/{part}.tsv"
    wildcard_constraints:
        part="AudioSet_SL|BBC_Sound_Effects|FreeSound|SoundBible",
    retries: RETRIES
    localrule: True
    conda:
        "../envs/audio.yaml"
    params:
        part="{part}",
        # Parts come side by side, and need room together.
        parts=AUDIO.config["sources"]["wavcaps"]["parts"],
        repository=SOURCES["audio"]["wavcaps"]["repository"],
        revision=SOURCES["audio"]["wavcaps"]["revision"],
        checkpoint=module_param("results/checkpoints/audio_download_wavcaps/{part}"),
        code=code("audio_download_wavcaps"),
    script:
        "../workflow_scripts/audio/download_wavcaps.py"


rule audio_count:
    """Count what a data set's tables list, against published numbers, before recordings come."""
    input:
        tables=lambda wildcards: AUDIO.inputs.places(wildcards.dataset).tables,
    output:
        "results/inputs/audio/{dataset}.csv",
    log:
        "results/logs/audio_count/{dataset}.log",
    benchmark:
        "results/benchmarks/audio_count/{dataset}.tsv"
    priority: 90
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(mem_mb=6000, minutes=30),
    params:
        dataset="{dataset}",
        folder=module_param(
            lambda wildcards: AUDIO.inputs.places(wildcards.dataset).folder
        ),
        splits=AUDIO.config["sources"]["clotho"]["splits"],
        parts=AUDIO.config["sources"]["wavcaps"]["parts"],
        code=code("audio_count"),
    script:
        "../workflow_scripts/audio/count.py"


rule audio_unpack:
    """Unpack one of Clotho's archives, or the MP3 copy of a large data set."""
    input:
        archives=AUDIO.inputs.archives,
    output:
        temp_unless(KEEP, directory(f"{SOUND}/{{kind}}/{{part}}")),
    log:
        "results/logs/audio_unpack/{kind}-{part}.log",
    benchmark:
        "results/benchmarks/audio_unpack/{kind}-{part}.tsv"
    wildcard_constraints:
        kind="clotho|mp3",
        part="development|validation|evaluation|retrieval_audio|audiocaps|wavcaps",
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(minutes=30),
    params:
        files=AUDIO.inputs.archived_files,
        code=code("audio_unpack"),
    script:
        "../workflow_scripts/audio/unpack.py"


rule audio_list_clotho:
    """List Clotho's clips, captions and queries."""
    input:
        tables=CLOTHO.tables,  # and no recordings, so that new captions come in the first minutes
    output:
        clips="results/audio/data/clotho/clips.csv",
        captions="results/audio/data/clotho/captions.csv",
        queries="results/audio/data/clotho/queries.csv",
    log:
        "results/logs/audio_list_clotho/audio_list_clotho.log",
    benchmark:
        "results/benchmarks/audio_list_clotho/audio_list_clotho.tsv"
    priority: 85
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(),
    params:
        folder=module_param(CLOTHO.folder),
        audio=module_param(CLOTHO.sound),
        splits=AUDIO.config["sources"]["clotho"]["splits"],
        code=code("audio_list_clotho"),
    script:
        "../workflow_scripts/audio/list_clotho.py"


rule audio_list_others:
    """List the clips and captions of AudioCaps or WavCaps."""
    input:
        tables=lambda wildcards: AUDIO.inputs.places(wildcards.dataset).tables,
        recordings=lambda wildcards: AUDIO.inputs.places(wildcards.dataset).recordings,
    output:
        clips="results/audio/data/{dataset}/clips.csv",
        captions="results/audio/data/{dataset}/captions.csv",
    log:
        "results/logs/audio_list_others/{dataset}.log",
    benchmark:
        "results/benchmarks/audio_list_others/{dataset}.tsv"
    wildcard_constraints:
        dataset="audiocaps|wavcaps",
    priority: 20
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(mem_mb=6000, minutes=30),
    params:
        dataset="{dataset}",
        folder=module_param(
            lambda wildcards: AUDIO.inputs.places(wildcards.dataset).folder
        ),
        audio=module_param(
            lambda wildcards: AUDIO.inputs.places(wildcards.dataset).sound
        ),
        parts=AUDIO.config["sources"]["wavcaps"]["parts"],
        code=code("audio_list_others"),
    script:
        "../workflow_scripts/audio/list_others.py"


rule audio_shard:
    """Resample a data set's recordings once, into shards with an index."""
    input:
        clips="results/audio/data/{dataset}/clips.csv",
        recordings=after_check(
            lambda wildcards: AUDIO.inputs.places(wildcards.dataset).recordings
        ),
    output:
        directory("results/audio/shards/{dataset}"),
    log:
        "results/logs/audio_shard/{dataset}.log",
    benchmark:
        "results/benchmarks/audio_shard/{dataset}.tsv"
    priority: 20
    retries: RETRIES
    conda:
        "../envs/audio.yaml"
    threads: 1 if AUDIO.inputs.synthesised else 2
    resources:
        **cluster(minutes=240),
    params:
        audio=module_param(
            lambda wildcards: AUDIO.inputs.places(wildcards.dataset).sound
        ),
        kind=lambda wildcards: AUDIO.config["sources"][wildcards.dataset]["shards"],
        checkpoint=module_param("results/checkpoints/audio_shard/{dataset}"),
        code=code("audio_shard"),
    script:
        "../workflow_scripts/audio/shard.py"


rule audio_corpus:
    """Decide which clips a corpus trains on, and record why it leaves out the others."""
    input:
        clips=AUDIO_CLIPS,
        shards=AUDIO_SHARDS,
        leaks=AUDIO.inputs.leak_lists,
    output:
        manifest="results/audio/corpora/{corpus}/manifest.csv",
        removed="results/audio/corpora/{corpus}/removed.csv",
        counts="results/audio/corpora/{corpus}/counts.csv",
    log:
        "results/logs/audio_corpus/{corpus}.log",
    benchmark:
        "results/benchmarks/audio_corpus/{corpus}.tsv"
    priority: 20
    conda:
        "../envs/audio.yaml"
    resources:
        **cluster(mem_mb=6000, minutes=30),
    params:
        splits=lambda wildcards: AUDIO.config["corpora"][wildcards.corpus]["splits"],
        exclude=lambda wildcards: AUDIO.config["corpora"][wildcards.corpus]["exclude"],
        leaks=module_param(
            f"{SYNTHESISED if AUDIO.inputs.synthesised else DOWNLOADS}/leaks"
        ),
        code=code("audio_corpus"),
    script:
        "../workflow_scripts/audio/corpus.py"


rule audio_caption:
    """Write new captions for Clotho's: by a language model, the authors', or the scenes' own."""
    input:
        clips="results/audio/data/clotho/clips.csv",
        captions="results/audio/data/clotho/captions.csv",
        published=(
            SYNTHESISED
            if AUDIO.config["captions"]["backend"] == "template"
            else AUDIO.inputs.published_captions or []
        ),
    output:
        variations="results/audio/captions/variations.csv",
        unfiltered="results/audio/captions/unfiltered.csv",
        rejected="results/audio/captions/rejected.csv",
        usage="results/audio/captions/usage.csv",
        example="results/audio/captions/example.json",
    log:
        "results/logs/audio_caption/audio_caption.log",
    benchmark:
        "results/benchmarks/audio_caption/audio_caption.tsv"
    priority: 85  # what it leaves out is told before anything trains
    retries: RETRIES
    localrule: True
    conda:
        "../envs/captions.yaml"
    params:
        captions=AUDIO.config["captions"],
        splits=AUDIO.rephrased,
        published=module_param(AUDIO.inputs.published_captions),
        code=code("audio_caption"),
    script:
        "../workflow_scripts/audio/caption.py"


rule audio_download_passt:
    """Download a published PaSST; its tensors are checked and kept."""
    output:
        "results/audio/weights/{variant}.safetensors",
    log:
        "results/logs/audio_download_passt/{variant}.log",
    benchmark:
        "results/benchmarks/audio_download_passt/{variant}.tsv"
    wildcard_constraints:
        variant="passt_n|passt_s|passt_s15",
    priority: 80
    retries: RETRIES
    localrule: True
    conda:
        "../envs/audio.yaml"
    params:
        variant="{variant}",
        url=lambda w: AUDIO.inputs.files["passt"][w.variant].get("url"),
        size=lambda w: AUDIO.inputs.files["passt"][w.variant].get("size"),
        sha256=lambda w: AUDIO.inputs.files["passt"][w.variant].get("sha256"),
        lock=lambda wildcards: f"resources/locks/{wildcards.variant}.json",
        code=code("audio_download_passt"),
    script:
        "../workflow_scripts/audio/download_passt.py"


rule audio_text_model:
    """Get a text model: from the hub by its revision, or a small one from scratch."""
    input:
        # A tokenizer from scratch is made of the training captions.
        captions=lambda w: (
            AUDIO_CAPTIONS
            if AUDIO.text_settings[w.text_model]["source"] == "scratch"
            else []
        ),
        manifest=lambda w: (
            f"results/audio/corpora/{AUDIO.config['evaluated']}/manifest.csv"
            if AUDIO.text_settings[w.text_model]["source"] == "scratch"
            else []
        ),
    output:
        directory("results/audio/text/{text_model}"),
    log:
        "results/logs/audio_text_model/{text_model}.log",
    benchmark:
        "results/benchmarks/audio_text_model/{text_model}.tsv"
    priority: 80
    retries: RETRIES
    localrule: True
    conda:
        "../envs/audio.yaml"
    params:
        settings=lambda wildcards: AUDIO.text_settings[wildcards.text_model],
        code=code("audio_text_model"),
    script:
        "../workflow_scripts/audio/text_model.py"


rule audio_download_checkpoint:
    """Download a retrieval model that others published, as a model of ours."""
    input:
        text=lambda w: f"results/audio/text/{AUDIO.published[w.checkpoint][1]}",
    output:
        directory("results/audio/published/{checkpoint}"),
    log:
        "results/logs/audio_download_checkpoint/{checkpoint}.log",
    benchmark:
        "results/benchmarks/audio_download_checkpoint/{checkpoint}.tsv"
    retries: RETRIES
    localrule: True
    conda:
        "../envs/audio.yaml"
    params:
        urls=lambda w: AUDIO.inputs.files["checkpoints"][w.checkpoint]["urls"],
        locks=lambda w: [
            f"resources/locks/{w.checkpoint}-{number}.json"
            for number, _ in enumerate(
                AUDIO.inputs.files["checkpoints"][w.checkpoint]["urls"], start=1
            )
        ],
        audio_model=lambda w: AUDIO.config["audio_models"][
            AUDIO.published[w.checkpoint][0]
        ],
        model=AUDIO.config["model"],
        code=code("audio_download_checkpoint", AUDIO.encoders),
    script:
        "../workflow_scripts/audio/download_checkpoint.py"
