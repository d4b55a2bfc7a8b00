"""Where files of the style study lie that several rules name."""


def style_images(kind, *experiments):
    """The contents or paintings of these experiments, or of all."""
    names = STYLE.names(kind.removesuffix("s"), *experiments)
    return expand("results/style/{kind}/{name}.png", kind=kind, name=names)


def style_experiments(file, *names):
    """A file of these experiments, or of all."""
    names = names or STYLE.config["experiments"]
    return expand("results/style/optimize/{name}/{file}", name=names, file=file)


def style_source(catalogue, name):
    """The file that a painting or a content is read from: the user's own, or a download."""
    return (
        STYLE.config[catalogue][name].get("path") or f"results/style/downloads/{name}"
    )


def style_trained(file):
    """A file of every network that this run trains."""
    trained = STYLE.config["networks"]["trained"]
    return expand("results/style/networks/{name}/plain/{file}", name=trained, file=file)


def paintings_learnt(wildcards):
    """The paintings that a network is trained for."""
    return expand(
        "results/style/paintings/{style}.png", style=STYLE.styles(wildcards.painting)
    )
