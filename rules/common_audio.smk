"""What the audio study's rules share: the experiment table, and where each thing lies."""

from triptych.audio.captions.settings import check_captions
from triptych.audio.experiments import audio_runs, run_records as audio_records

AUDIO = config["audio"]
AUDIO_SOURCES = {name: each["source"] for name, each in AUDIO["sources"].items()}
AUDIO_DATASETS = [name for name, source in AUDIO_SOURCES.items() if source != "none"]
_made = [name for name in AUDIO_DATASETS if AUDIO_SOURCES[name] == "synthesised"]
if _made and len(_made) < len(AUDIO_DATASETS):
    raise WorkflowError(
        f"config: audio.sources: {', '.join(_made)} would be synthesised and "
        f"{', '.join(sorted(set(AUDIO_DATASETS) - set(_made)))} would not; "
        "a data set that you don't have is left out by {source: none}"
    )
AUDIO_FILES = {group: each["files"] for group, each in SOURCES["audio"].items()}
AUDIO_SYNTHESISED = "results/audio/synthesised"
AUDIO_DOWNLOADS = "results/audio/downloads"

try:
    check_captions(AUDIO["captions"], AUDIO_SOURCES["clotho"])
    AUDIO_RUNS = audio_runs(AUDIO)
except ValueError as error:
    raise WorkflowError(f"config: {error}")

AUDIO_EVALUATED = AUDIO_RUNS[AUDIO_RUNS["corpus"] == AUDIO["evaluated"]]
AUDIO_SUBMITTED = AUDIO_RUNS[AUDIO_RUNS["corpus"] == AUDIO["submitted"]]
AUDIO_CORPORA = list(dict.fromkeys(AUDIO_RUNS["corpus"]))
AUDIO_MAIN = "-".join(AUDIO["main"])
AUDIO_CLIPS = expand("results/audio/data/{dataset}/clips.csv", dataset=AUDIO_DATASETS)
AUDIO_CAPTIONS = expand(
    "results/audio/data/{dataset}/captions.csv", dataset=AUDIO_DATASETS
)
AUDIO_SHARDS = expand("results/audio/shards/{dataset}", dataset=AUDIO_DATASETS)


def audio_folder(dataset):
    """The folder with a data set's tables, in the layout of its source."""
    return {
        "synthesised": f"{AUDIO_SYNTHESISED}/{dataset}",
        "path": AUDIO["sources"][dataset].get("path"),
    }.get(AUDIO_SOURCES[dataset], f"{AUDIO_DOWNLOADS}/{dataset}")


def audio_sound(dataset):
    """The folder with a data set's sound: files, or WavCaps' archives."""
    folder = audio_folder(dataset)
    inside = {
        ("clotho", "download"): "results/audio/sound/clotho",
        ("audiocaps", "synthesised"): f"{folder}/audio",
        ("audiocaps", "youtube"): "results/audio/sound/audiocaps",
        ("wavcaps", "synthesised"): f"{folder}/audio",
    }
    return inside.get((dataset, AUDIO_SOURCES[dataset]), folder)


def audio_downloads(group, kept=lambda name: True):
    """The downloaded files of a group in resources/sources.yaml whose names `kept` says."""
    return [
        f"{AUDIO_DOWNLOADS}/{group}/{name}" for name in AUDIO_FILES[group] if kept(name)
    ]


def audio_wavcaps_part(name):
    """Whether a file of WavCaps belongs to a part that config names."""
    return any(part in name for part in AUDIO["sources"]["wavcaps"]["parts"])


def audio_tables(dataset):
    """What must be there before a data set's clips can be listed."""
    source = AUDIO_SOURCES[dataset]
    if source == "synthesised":
        return [AUDIO_SYNTHESISED]
    if source == "path":
        return []
    return audio_downloads(
        dataset,
        lambda name: name.endswith((".csv", ".json"))
        and (dataset != "wavcaps" or audio_wavcaps_part(name)),
    )


def audio_recordings(dataset):
    """What must be there before a data set's sound can be read."""
    return {
        ("clotho", "download"): expand(
            "results/audio/sound/clotho/{split}",
            split=["development", "validation", "evaluation", "retrieval_audio"],
        ),
        ("audiocaps", "youtube"): ["results/audio/sound/audiocaps"],
        ("wavcaps", "download"): expand(
            f"{AUDIO_DOWNLOADS}/wavcaps/Zip_files/{{part}}",
            part=AUDIO["sources"]["wavcaps"]["parts"],
        ),
    }.get((dataset, AUDIO_SOURCES[dataset]), audio_tables(dataset))


def audio_leak_folder():
    """Where the lists of clips that overlap with Clotho lie."""
    if AUDIO_SOURCES["clotho"] == "synthesised":
        return f"{AUDIO_SYNTHESISED}/leaks"
    return f"{AUDIO_DOWNLOADS}/leaks"


def audio_leak_lists(wildcards):
    """What a corpus needs before its leaks can be looked up."""
    if AUDIO["corpora"][wildcards.corpus]["exclude"] == "none":
        return []
    if AUDIO_SOURCES["clotho"] == "synthesised":
        return [AUDIO_SYNTHESISED]
    return audio_downloads("leaks")


def audio_relevance():
    """The file of multi-positive labels, where the data have one."""
    labels = f"{audio_folder('clotho')}/metadata_eval.csv"
    return (
        labels if AUDIO_SOURCES["clotho"] != "path" or os.path.exists(labels) else None
    )


def audio_of(stage):
    """Input function: the rows of one stage, pair and corpus, as plain records for params."""

    def rows(wildcards):
        wanted = [stage, wildcards.pair, wildcards.corpus]
        return audio_records(
            AUDIO_RUNS[(AUDIO_RUNS[["stage", "pair", "corpus"]] == wanted).all(axis=1)]
        )

    return rows


def audio_models(table):
    """The folders that hold the models of these rows, as their rules make them."""
    stages = table[["pair", "corpus", "stage"]].drop_duplicates()
    return [
        f"results/audio/models/{pair}/{corpus}/{stage}"
        for pair, corpus, stage in stages.itertuples(index=False)
    ]


def audio_model(wildcards):
    """The audio model of a pair, as configured."""
    return AUDIO["audio_models"][wildcards.pair.split("-")[0]]


def audio_weights(wildcards):
    """The published weights that a pair's audio model starts from, if it does."""
    name = audio_model(wildcards)["weights"]
    return [] if name == "none" else f"results/audio/weights/{name}.safetensors"


def audio_text(wildcards):
    """The folder of a pair's text model."""
    return f"results/audio/text/{wildcards.pair.split('-')[1]}"


def audio_text_captions(wildcards):
    """The captions that a tokenizer is made from, for a text model from scratch."""
    scratch = AUDIO["text_models"][wildcards.text_model]["source"] == "scratch"
    return AUDIO_CAPTIONS if scratch else []


def audio_text_manifest(wildcards):
    """The corpus whose captions those are: what every model may train on."""
    if not audio_text_captions(wildcards):
        return []
    return f"results/audio/corpora/{AUDIO['evaluated']}/manifest.csv"


def audio_splits(wildcards):
    """The splits of Clotho that a corpus trains on."""
    return AUDIO["corpora"][wildcards.corpus]["splits"]


# New captions are written for every split that a fine-tuned model trains on.
AUDIO_REPHRASED = [
    split
    for split in ("development", "validation", "evaluation")
    if any(
        split in AUDIO["corpora"][corpus]["splits"]
        for corpus in AUDIO_RUNS[AUDIO_RUNS["captions"] == "gpt"]["corpus"]
    )
]

AUDIO_STUDY = {
    "audio_models": AUDIO["audio_models"],
    "text_models": AUDIO["text_models"],
    "main": AUDIO["main"],
    "evaluated": AUDIO["evaluated"],
    "leaky": AUDIO["leaky"],
    "first_seed": AUDIO["finetuning"]["seeds"][0],
    "sources": AUDIO_SOURCES,
    "backend": AUDIO["captions"]["backend"],
}


def audio_file(key):
    """An entry's value in resources/sources.yaml, for the file that the wildcards name."""
    return lambda wildcards: AUDIO_FILES[wildcards.set][wildcards.file].get(key)


def audio_passt(key):
    """An entry's value of a published PaSST in resources/sources.yaml."""
    return lambda wildcards: AUDIO_FILES["passt"][wildcards.variant].get(key)


def audio_mirrors(wildcards):
    """Other addresses of the file that the wildcards name."""
    mirror = audio_file("mirror")(wildcards)
    return [mirror] if mirror else []


def audio_clotho_archive(wildcards):
    """The archive that holds a split's recordings."""
    name = {"retrieval_audio": "retrieval_audio.7z"}.get(
        wildcards.split, f"clotho_audio_{wildcards.split}.7z"
    )
    return f"{AUDIO_DOWNLOADS}/clotho/{name}"


def audio_clotho_files(wildcards):
    """How many recordings a split's archive must hold, where that is known."""
    name = os.path.basename(audio_clotho_archive(wildcards))
    return AUDIO_FILES["clotho"][name].get("clips")


def audio_published():
    """The file that new captions are taken from, where no server is asked for them."""
    return {
        "template": f"{AUDIO_SYNTHESISED}/captions/variations.json",
        "authors": f"{AUDIO_DOWNLOADS}/captions/variations.json",
    }.get(AUDIO["captions"]["backend"])


def audio_published_folder():
    """What must be there before that file is."""
    template = AUDIO["captions"]["backend"] == "template"
    return AUDIO_SYNTHESISED if template else audio_published() or []


def audio_text_settings(wildcards):
    """A text model's entry in config, with its repository and revision if the hub has it."""
    settings = AUDIO["text_models"][wildcards.text_model]
    if settings["source"] == "scratch":
        return settings
    if wildcards.text_model not in AUDIO_FILES["text_models"]:
        raise WorkflowError(
            f"config: audio.text_models.{wildcards.text_model} comes from the hub, but "
            "resources/sources.yaml (audio, text_models) has no repository and revision for it"
        )
    source = AUDIO_FILES["text_models"][wildcards.text_model]
    return {
        **settings,
        **{key: source[key] for key in ("repository", "revision", "sha256")},
    }


# What is downloaded file by file, by audio_download; the other groups have rules of their own.
AUDIO_DOWNLOADED = ["clotho", "audiocaps", "wavcaps", "leaks", "captions"]
AUDIO_DOWNLOADED_FILES = sorted(
    {name for group in AUDIO_DOWNLOADED for name in AUDIO_FILES[group]}
)


def audio_teachers(wildcards):
    """The fine-tuned models of the ensemble's members on the same corpus, as their rules make them."""
    return [
        f"results/audio/models/{audio}-{text}/{wildcards.corpus}/finetuned"
        for audio, text in AUDIO["ensemble"]["members"]
    ]


def audio_teacher_models(wildcards):
    """The folders of the ensemble's members themselves."""
    seed = AUDIO["finetuning"]["seeds"][0]
    return [f"{folder}/gpt-seed{seed}" for folder in audio_teachers(wildcards)]


def audio_scenes_folder():
    """What is known of synthesised clips."""
    return [AUDIO_SYNTHESISED] if AUDIO_SOURCES["clotho"] == "synthesised" else []


def audio_scenes():
    """The file that says what a synthesised clip is."""
    return next((f"{folder}/scenes.csv" for folder in audio_scenes_folder()), None)


# Each stage of training: what all have in common, and its own.
AUDIO_STAGES = {
    stage: {**AUDIO["stages"]["common"], **settings}
    for stage, settings in AUDIO["stages"].items()
    if stage != "common"
}
AUDIO_THREADS = 1 + AUDIO["stages"]["common"]["workers"]
AUDIO_SCORED = AUDIO_RUNS[AUDIO_RUNS["corpus"] != AUDIO["submitted"]]
# The model of the search page: the main pair, fine-tuned with new captions, first seed.
AUDIO_SHOWN = AUDIO_EVALUATED[
    (AUDIO_EVALUATED["pair"] == AUDIO_MAIN) & (AUDIO_EVALUATED["captions"] == "gpt")
].head(1)
AUDIO_SUBMISSIONS = [
    "results/submissions/{author}_{institute}_task6b_submission_{n}_output.csv".format(
        n=number, **AUDIO["submission"]
    )
    for number in (1, 2, 3, 4)
]
AUDIO_EXCLUSIONS = {
    corpus: each["exclude"]
    for corpus, each in AUDIO["corpora"].items()
    if corpus in AUDIO_CORPORA
}
# How the models that claims speak of were trained.
AUDIO_TRAINED = {
    "exclude": AUDIO["corpora"][AUDIO["evaluated"]]["exclude"],
    "precisions": [
        AUDIO_STAGES[stage]["precision"] for stage in ("pretraining", "finetuning")
    ],
}
AUDIO_MODEL = {
    name: value for name, value in AUDIO["model"].items() if name != "text_dropout"
}


def audio_untrained(wildcards):
    """Whether the model as it begins is kept as a baseline: that of the main pair."""
    return wildcards.pair == AUDIO_MAIN and wildcards.corpus == AUDIO["evaluated"]


def audio_facts():
    """What was run, for the head of the study's part of the page."""

    def labels(kind, position):
        names = dict.fromkeys(pair[position] for pair in AUDIO["pairs"])
        return ", ".join(AUDIO[kind][name]["label"] for name in names)

    stages = AUDIO_STAGES
    counts = AUDIO_RUNS["stage"].value_counts()
    return {
        "Data": ", ".join(
            f"{name} ({source})" for name, source in AUDIO_SOURCES.items()
        ),
        "Audio models": labels("audio_models", 0),
        "Text models": labels("text_models", 1),
        "Trained models": ", ".join(
            f"{counts[stage]} {stage}" for stage in counts.index
        ),
        "Epochs": f"{stages['pretraining']['epochs']} of pretraining, "
        f"{stages['finetuning']['epochs']} of fine-tuning, batches of "
        f"{stages['pretraining']['batch']}",
        "New captions": AUDIO["captions"]["backend"],
        "Left out of training": ", ".join(
            f"{corpus}: {exclude}" for corpus, exclude in AUDIO_EXCLUSIONS.items()
        ),
    }
