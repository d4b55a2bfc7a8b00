"""Paths and values of the style study that several rules name."""


def style_images(kind, *experiments):
    """The contents or paintings of these experiments."""
    names = STYLE.names(kind.removesuffix("s"), *experiments)
    return expand("results/style/{kind}/{name}.png", kind=kind, name=names)


def style_experiments(file, experiments):
    """A file of each of these experiments."""
    return expand("results/style/optimize/{name}/{file}", name=experiments, file=file)


def figure_inputs(experiment):
    """Inputs of a figure of an experiment, and of those that it is shown with."""
    experiments = STYLE.shown_with(experiment)
    return {
        "runs": style_experiments("runs.csv", experiments),
        "history": style_experiments("history.csv", experiments),
        "images": style_experiments("images", experiments),
        "contents": style_images("contents", *experiments),
        "paintings": style_images("paintings", *experiments),
    }


def quality_inputs(wildcards):
    """The photographs and paintings of an experiment's images, or of a network's."""
    contents, paintings = STYLE.shown_contents, [wildcards.name]
    if wildcards.version == "optimize":
        contents, paintings = (
            STYLE.names(column, wildcards.name) for column in ("content", "painting")
        )
    return {
        "contents": expand("results/style/contents/{name}.png", name=contents),
        "paintings": expand("results/style/paintings/{name}.png", name=paintings),
    }


def style_weights(wildcards):
    """The weights of each backbone of an experiment, as inputs named by its role."""
    roles = STYLE.names("backbone", wildcards.experiment)
    return {f"weights_{role}": module_input(STYLE.backbone(role)) for role in roles}


def style_entries(catalogue, *sources):
    """The entries of `paintings` or `contents` with one of these sources, whatever their order."""
    entries = sorted(STYLE.config[catalogue].items())
    return [name for name, entry in entries if entry["source"] in sources]


def style_pattern(catalogue, *sources):
    """A wildcard's pattern for the entries with one of these sources."""
    return "|".join(style_entries(catalogue, *sources)) or "none"


def style_source(catalogue, name):
    """The file that a painting or a content is read from: the user's own, or a download."""
    return (
        STYLE.config[catalogue][name].get("path") or f"results/style/downloads/{name}"
    )


def style_download(group, wildcard, key):
    """A value in resources/sources.yaml of the file that a wildcard names."""
    return lambda wildcards: SOURCES[group]["files"][wildcards[wildcard]].get(key)


def style_trained(file):
    """A file of every network that this run trains."""
    trained = STYLE.config["networks"]["trained"]
    return expand("results/style/networks/{name}/plain/{file}", name=trained, file=file)


@cache
def warn_unnamed():
    """Say in a dry run, once, what ends a real one before its first job."""
    if STYLE.unnamed and workflow.dryrun:
        logger.warning(STYLE.unnamed)


def contact(wildcards):
    """A param: whom Wikimedia may write to."""
    if not os.path.exists(f"{prefix()}results/style/downloads/{wildcards.picture}"):
        warn_unnamed()
    return STYLE.config["contact"]
