"""Style transfer: optimised images (Version 1), trained networks (Version 2), videos, timings."""


include: "style_paths.smk"
include: "style_inputs.smk"
include: "style_report.smk"


rule style:
    """Style transfer (Shen and Wang 2022): all its tables and figures."""
    input:
        products("style"),
        asked("style"),


rule style_networks:
    """The networks that the config trains, without what shows them."""
    input:
        expand(
            "results/style/networks/{name}/plain/network.safetensors",
            name=STYLE.config["networks"]["trained"],
        ),


TRAINING = STYLE.config["training"]
FILM = STYLE.config["video"]
PHOTOGRAPHS_CUT = [f"{CROPS}/crops.bin", f"{CROPS}/index.csv"]


wildcard_constraints:
    experiment="[a-z][a-z0-9_]*",
    variant="plain|shipped",


rule style_optimize:
    """Version 1: optimise all images of one experiment, many at once."""
    input:
        unpack(style_weights),
        contents=lambda w: style_images("contents", w.experiment),
        paintings=lambda w: style_images("paintings", w.experiment),
        photographs=lambda w: PHOTOGRAPHS_CUT if STYLE.normalises(w.experiment) else [],
    output:
        runs="results/style/optimize/{experiment}/runs.csv",
        history="results/style/optimize/{experiment}/history.csv",
        images=directory("results/style/optimize/{experiment}/images"),
    log:
        "results/logs/style_optimize/{experiment}.log",
    benchmark:
        "results/benchmarks/style_optimize/{experiment}.tsv"
    priority: 15
    retries: RETRIES
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(mem_mb=8000, minutes=420),
        gpu=GPU,
    params:
        runs=lambda w: STYLE.rows(w.experiment),
        calibration=STYLE.config["calibration"],
        device=config["device"],
        checkpoint=module_param("results/checkpoints/style_optimize/{experiment}"),
        code=code("style_optimize", methods=STYLE.methods),
    script:
        "../workflow_scripts/style/optimize.py"


rule style_train:
    """Version 2: train a network; the checkpoint of the lowest held-out loss is kept."""
    input:
        crops=f"{CROPS}/crops.bin",
        index=f"{CROPS}/index.csv",
        paintings=lambda w: expand(
            "results/style/paintings/{style}.png", style=STYLE.styles(w.painting)
        ),
        backbone=module_input(lambda w: STYLE.backbone("loss")),
        content=ancient(f"results/style/contents/{CONTENTS[0]}.png"),  # painted, not learnt from
        initial=module_input(
            expand(
                "resources/style/networks/{name}.safetensors",
                name=filter(None, [STYLE.config["networks"]["initial_weights"]]),
            )
        ),
    output:
        network="results/style/networks/{painting}/{variant}/network.safetensors",
        selection="results/style/networks/{painting}/{variant}/selection.csv",
        losses="results/style/networks/{painting}/{variant}/losses.csv",
        samples="results/style/networks/{painting}/{variant}/samples.png",
    log:
        "results/logs/style_train/{painting}-{variant}.log",
    benchmark:
        "results/benchmarks/style_train/{painting}-{variant}.tsv"
    priority: 20
    retries: RETRIES
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(mem_mb=6000, minutes=60),
        gpu=GPU,
    params:
        painting="{painting}",
        styles=lambda w: STYLE.styles(w.painting),
        variant="{variant}",
        origin=STYLE.config["networks"]["origin"],
        architecture=STYLE.config["network"],
        pooling=TRAINING["pooling"],
        painting_size=TRAINING["painting_size"],
        losses=STYLE.config["losses"],
        training=TRAINING["schedule"],
        device=config["device"],
        checkpoint=module_param("results/checkpoints/style_train/{painting}-{variant}"),
        # A picture of every checkpoint, to be looked at while the training runs.
        shown=module_param("results/style/networks/{painting}/{variant}/checkpoints"),
        code=code("style_train"),
    script:
        "../workflow_scripts/style/train.py"


rule style_stylize:
    """Version 2: stylise photographs with one network."""
    input:
        network=module_input(
            lambda w: STYLE.network(w.painting, STYLE.shown[w.painting])
        ),
        contents=expand("results/style/contents/{name}.png", name=STYLE.shown_contents),
    output:
        runs="results/style/stylised/{painting}/runs.csv",
        images=expand(
            "results/style/stylised/{{painting}}/{content}.png",
            content=STYLE.shown_contents,
        ),
    log:
        "results/logs/style_stylize/{painting}.log",
    benchmark:
        "results/benchmarks/style_stylize/{painting}.tsv"
    priority: 30  # with a finished network, the first pictures that a run shows
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(mem_mb=6000, minutes=30),
        gpu=GPU,
    params:
        painting="{painting}",
        variant=lambda w: STYLE.shown[w.painting],
        precision=STYLE.config["stylised"]["precision"],
        device=config["device"],
        code=code("style_stylize"),
    script:
        "../workflow_scripts/style/stylize.py"


rule style_quality:
    """Measure images of an experiment, or of a network, against their photographs and paintings."""
    input:
        unpack(quality_inputs),
        runs="results/style/{version}/{name}/runs.csv",
        validation=module_input(lambda w: STYLE.backbone("validation")),
    output:
        "results/style/quality/{version}/{name}.csv",
    log:
        "results/logs/style_quality/{version}-{name}.log",
    benchmark:
        "results/benchmarks/style_quality/{version}-{name}.tsv"
    wildcard_constraints:
        version="optimize|stylised",
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(mem_mb=6000, minutes=30),
    params:
        **STYLE.config["quality"],
        version="{version}",
        code=code("style_quality"),
    script:
        "../workflow_scripts/style/quality.py"


rule style_film:
    """The video to be stylised: generated, with sound, or the user's own."""
    input:
        **(
            {"video": module_input(lambda w: FILM["path"])}
            if FILM["source"] == "path"
            else {}
        ),
    output:
        "results/style/video/source.mp4",
    log:
        "results/logs/style_film/style_film.log",
    benchmark:
        "results/benchmarks/style_film/style_film.tsv"
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(),
    params:
        film=FILM["film"],
        code=code("style_film"),
    script:
        "../workflow_scripts/style/film.py"


rule style_video:
    """Stylise the video in batches, as H.264 with its sound; how fast, and how much it flickers."""
    input:
        source="results/style/video/source.mp4",
        network=module_input(lambda w: STYLE.network(w.painting, w.variant)),
    output:
        video="results/style/video/{painting}/{variant}/video.mp4",
        properties="results/style/video/{painting}/{variant}/properties.csv",
        flicker="results/style/video/{painting}/{variant}/flicker.csv",
        speed="results/style/video/{painting}/{variant}/speed.csv",
    log:
        "results/logs/style_video/{painting}-{variant}.log",
    benchmark:
        "results/benchmarks/style_video/{painting}-{variant}.tsv"
    conda:
        "../envs/style.yaml"
    # All cores, so that no other job disturbs the clock of speed.csv.
    threads: CORES
    resources:
        **cluster(mem_mb=6000, minutes=30),
        gpu=GPU,
    params:
        batch=FILM["batch"],
        crf=FILM["crf"],
        precision=STYLE.config["stylised"]["precision"],
        speed=FILM["speed"],
        device=config["device"],
        code=code("style_video"),
    script:
        "../workflow_scripts/style/video.py"


rule style_time:
    """Time both versions by image size, and Version 1 by content loss."""
    input:
        photographs=PHOTOGRAPHS_CUT,
        painting=f"results/style/paintings/{STYLE.config['timing']['painting']}.png",
        alexnet=module_input(lambda w: STYLE.backbone("alexnet")),
        vgg=module_input(lambda w: STYLE.backbone("vgg")),
        network=module_input(STYLE.network(STYLE.main, STYLE.shown[STYLE.main])),
    output:
        images="results/style/timing/images.csv",
        losses="results/style/timing/losses.csv",
    log:
        "results/logs/style_time/style_time.log",
    benchmark:
        "results/benchmarks/style_time/style_time.tsv"
    conda:
        "../envs/style.yaml"
    threads: CORES
    resources:
        **cluster(mem_mb=8000, minutes=150),
        gpu=GPU,
    params:
        timing=STYLE.config["timing"],
        content_losses=STYLE.names("content_loss", "losses"),
        architectures=STYLE.architectures,
        main=STYLE.main,
        precision=STYLE.config["stylised"]["precision"],
        device=config["device"],
        code=code("style_time", methods=STYLE.timed_methods),
    script:
        "../workflow_scripts/style/time.py"
