"""What the style study's rules share: the experiment table, and where each thing lies."""

from triptych.style.optimisation.experiments import experiment_records, experiment_runs

STYLE = config["style"]
STYLE_NETWORKS = STYLE["networks"]


def _known(names, catalogue, key):
    """Refuse a name that its catalogue in config doesn't define."""
    unknown = sorted(set(names) - set(catalogue))
    if unknown:
        raise WorkflowError(
            f"config: {key} names {', '.join(unknown)}; "
            f"allowed are {', '.join(catalogue)}"
        )


try:
    STYLE_RUNS = experiment_runs(
        STYLE["optimize"], STYLE["experiments"], STYLE["backbones"]
    )
except ValueError as error:
    raise WorkflowError(f"config: style.experiments: {error}")

STYLE_EXPERIMENTS = list(STYLE["experiments"])

# The network that results are shown of, for each painting: shipped or trained here.
STYLE_SHOWN = {
    **{painting: "shipped" for painting in STYLE_NETWORKS["shipped"]},
    **{
        painting: STYLE_NETWORKS["variants"][0]
        for painting in STYLE_NETWORKS["trained"]
    },
}
STYLE_TRAINED = [
    (painting, variant)
    for painting in STYLE_NETWORKS["trained"]
    for variant in STYLE_NETWORKS["variants"]
]
# Videos are made by the main network, and by each variant of the first one that is trained, so
# that their flicker can be compared.
STYLE_FILMED = list(
    dict.fromkeys(
        [(STYLE_NETWORKS["main"], STYLE_SHOWN.get(STYLE_NETWORKS["main"]))]
        + [pair for pair in STYLE_TRAINED if pair[0] == STYLE_NETWORKS["trained"][0]]
    )
)

_known(
    [*STYLE_RUNS["painting"], *STYLE_SHOWN, STYLE["timing"]["painting"]],
    STYLE["paintings"],
    "style",
)
_known(
    [
        *STYLE_RUNS["content"],
        *STYLE["stylised"]["contents"],
        STYLE["stylised"]["large"],
    ],
    STYLE["contents"],
    "style",
)
_known([STYLE_NETWORKS["main"]], STYLE_SHOWN, "style.networks.main")

STYLE_SHOWN_CONTENTS = list(
    dict.fromkeys([*STYLE["stylised"]["contents"], STYLE["stylised"]["large"]])
)


def style_network(painting, variant):
    """The file of a network: shipped with the repository, or trained and chosen by this run."""
    if variant == "shipped":
        return f"resources/style/networks/{painting}.safetensors"
    return f"results/style/networks/{painting}/{variant}/network.safetensors"


def style_variants(pattern, pairs):
    """The file of `pattern` for each (painting, variant)."""
    return [pattern.format(painting=p, variant=v) for p, v in pairs]


def style_backbone(role):
    """The weights of a backbone, by its role in config."""
    backbone = STYLE["backbones"][role]
    return {
        "embedded": f"resources/style/{backbone['architecture']}.safetensors",
        "imagenet": f"results/style/weights/{backbone['architecture']}.safetensors",
    }.get(backbone["weights"], backbone["weights"])


def style_pictures(kind, names):
    """Files of paintings or contents by name, each once."""
    return [f"results/style/{kind}/{name}.png" for name in dict.fromkeys(names)]


def style_rows(wildcards):
    """The rows of one experiment, as plain records for params."""
    return experiment_records(STYLE_RUNS, wildcards.experiment)


def style_rows_pictures(kind, column):
    """Input function: the paintings or contents that an experiment needs."""
    return lambda wildcards: style_pictures(
        kind, [row[column] for row in style_rows(wildcards)]
    )


def style_rows_backbones(wildcards):
    """The weights of the backbones that an experiment needs."""
    roles = dict.fromkeys(row["backbone"] for row in style_rows(wildcards))
    return [style_backbone(role) for role in roles]


def style_of(name):
    """The files `name` of all experiments."""
    return [f"results/style/optimize/{each}/{name}" for each in STYLE_EXPERIMENTS]


def style_crops(*files):
    """Files of the training photographs, by the source in config."""
    folder = f"results/style/photographs/{STYLE['photographs']['source']}"
    return [f"{folder}/{file}" for file in files]


def style_content_size(position):
    """Height (0) or width (1) that a content is cropped and scaled to, if config says so."""
    return lambda wildcards: STYLE["contents"][wildcards.content].get(
        "size", [None, None]
    )[position]


def style_painting_source(wildcards):
    """The file that a painting is read from."""
    painting = STYLE["paintings"][wildcards.painting]
    return painting.get("path") or f"results/style/downloads/{wildcards.painting}"


def source_file(group, wildcard, key):
    """An entry's value in resources/sources.yaml, for the file that a wildcard names."""
    return lambda wildcards: SOURCES[group]["files"][wildcards[wildcard]].get(key)


# Generated paintings are painted, all others read from a file.
STYLE_GENERATED = [
    name
    for name, painting in STYLE["paintings"].items()
    if painting["source"] == "generated"
]
STYLE_BUNDLED = [
    name for name, each in STYLE["contents"].items() if each["source"] == "embedded"
]
STYLE_FOUND = [name for name in STYLE["paintings"] if name not in STYLE_GENERATED]


def style_experiment_pictures(kind, column, experiment):
    """Files of the paintings or contents of one experiment."""
    rows = STYLE_RUNS[STYLE_RUNS["experiment"] == experiment]
    return style_pictures(kind, rows[column])


def style_shipped(kind):
    """Logs (csv) or contact sheets (png) of the networks that the repository carries."""
    return [
        f"resources/style/networks/{painting}.{kind}"
        for painting in STYLE_NETWORKS["shipped"]
    ]


def style_architectures():
    """The architecture of each backbone, by its role."""
    return {role: each["architecture"] for role, each in STYLE["backbones"].items()}


def style_video_source():
    """The user's own video, if config names one; otherwise the film is generated."""
    video = STYLE["video"]
    return {"video": video["path"]} if video["source"] == "path" else {}


def style_timed(name):
    """The file or folder `name` of the experiments that compare backbones and optimizers."""
    return [
        f"results/style/optimize/{each}/{name}" for each in ("backbones", "optimizers")
    ]


def style_losses(wildcards):
    """The loss settings of a variant: the temporal term counts in its own variant alone."""
    losses = STYLE["losses"]
    if wildcards.variant == "temporal":
        return losses
    return {**losses, "temporal_weight": 0.0}


def style_videos(name):
    """The file `name` of every stylised video."""
    return [
        f"results/style/video/{painting}/{variant}/{name}"
        for painting, variant in STYLE_FILMED
    ]


def style_facts():
    """What was run, for the head of the study's part of the page."""

    def named(role):
        backbone = STYLE["backbones"][role]
        return f"{backbone['architecture']} ({backbone['weights']})"

    schedule = STYLE["training"]["schedule"]
    return {
        "Version 1": f"{len(STYLE_RUNS)} images, "
        f"{STYLE['optimize']['evaluations']} evaluations at {STYLE['optimize']['size']} pixels "
        "where nothing else is said",
        "Backbones": f"{named('vgg')}, {named('alexnet')}",
        "Loss network of Version 2": named("loss"),
        "Trained in this run": ", ".join(
            f"{painting} ({variant})" for painting, variant in STYLE_TRAINED
        )
        + f": {schedule['batches']:,} batches of {schedule['batch']} at {schedule['size']} pixels",
        "Shipped with the repository": ", ".join(STYLE_NETWORKS["shipped"])
        or "none used",
        "Photographs": f"{STYLE['photographs']['source']}",
        "Judge of results": named("held_out"),
    }
