"""What the style study starts from: photographs, paintings, backbones."""

STYLE = WINGS["style"]


wildcard_constraints:
    painting="[a-z][a-z0-9_]*",
    content="[a-z][a-z0-9_]*",
    picture="[a-z][a-z0-9_]*",
    architecture="[a-z][a-z0-9_]*",


rule style_download_coco:
    """Download COCO's training images (19 GB), checked."""
    output:
        "results/style/downloads/train2017.zip",
    log:
        "results/logs/style_download_coco/style_download_coco.log",
    benchmark:
        "results/benchmarks/style_download_coco/style_download_coco.tsv"
    retries: RETRIES
    localrule: True
    conda:
        "../envs/download.yaml"
    params:
        **STYLE.coco,
        code=code("style_download_coco"),
    script:
        "../workflow_scripts/style/download_coco.py"


rule style_prepare_coco:
    """Decode COCO once, into one file of crops with an index."""
    input:
        archive="results/style/downloads/train2017.zip",
    output:
        crops="results/style/photographs/coco/crops.bin",
        index="results/style/photographs/coco/index.csv",
        skipped="results/style/photographs/coco/skipped.csv",
    log:
        "results/logs/style_prepare_coco/style_prepare_coco.log",
    benchmark:
        "results/benchmarks/style_prepare_coco/style_prepare_coco.tsv"
    conda:
        "../envs/style.yaml"
    threads: 8
    params:
        size=STYLE.config["photographs"]["size"],
        held_out=STYLE.config["photographs"]["held_out"],
        code=code("style_prepare_coco"),
    script:
        "../workflow_scripts/style/prepare_coco.py"


rule style_prepare_photographs:
    """Cut training crops out of a folder of photographs, or of the bundled ones."""
    output:
        crops="results/style/photographs/{source}/crops.bin",
        index="results/style/photographs/{source}/index.csv",
        skipped="results/style/photographs/{source}/skipped.csv",
    log:
        "results/logs/style_prepare_photographs/{source}.log",
    benchmark:
        "results/benchmarks/style_prepare_photographs/{source}.tsv"
    wildcard_constraints:
        source="embedded|folder",
    conda:
        "../envs/style.yaml"
    params:
        source="{source}",
        path=STYLE.config["photographs"].get("path"),
        size=STYLE.config["photographs"]["size"],
        held_out=STYLE.config["photographs"]["held_out"],
        crops=STYLE.config["photographs"]["crops"],
        seed=STYLE.config["photographs"]["seed"],
        generated=STYLE.config["photographs"]["generated"],
        reserved=STYLE.config["photographs"]["reserved"],
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
    retries: RETRIES
    localrule: True
    conda:
        "../envs/style.yaml"
    params:
        **STYLE.download("backbones", "architecture", "sha256_start"),
        architecture="{architecture}",
        code=code("style_download_weights"),
    script:
        "../workflow_scripts/style/download_weights.py"


rule style_download_picture:
    """Download a painting or a photograph from Wikimedia Commons."""
    output:
        "results/style/downloads/{picture}",
    log:
        "results/logs/style_download_picture/{picture}.log",
    benchmark:
        "results/benchmarks/style_download_picture/{picture}.tsv"
    retries: RETRIES
    localrule: True
    conda:
        "../envs/download.yaml"
    params:
        **STYLE.download("wikimedia", "picture", "sha256"),
        contact=STYLE.config["contact"],
        code=code("style_download_picture"),
    script:
        "../workflow_scripts/style/download_picture.py"


rule style_prepare_painting:
    """Check a painting that was downloaded, or is the user's own."""
    input:
        found(STYLE.painting_source),
    output:
        "results/style/paintings/{painting}.png",
    log:
        "results/logs/style_prepare_painting/{painting}.log",
    benchmark:
        "results/benchmarks/style_prepare_painting/{painting}.tsv"
    conda:
        "../envs/style.yaml"
    params:
        longest=STYLE.config["longest_painting"],
        code=code("style_prepare_painting"),
    script:
        "../workflow_scripts/style/prepare_painting.py"


rule style_prepare_content:
    """Prepare a photograph to be stylised, downloaded or the user's own."""
    input:
        found(STYLE.content_source),
    output:
        "results/style/contents/{content}.png",
    log:
        "results/logs/style_prepare_content/{content}.log",
    benchmark:
        "results/benchmarks/style_prepare_content/{content}.tsv"
    wildcard_constraints:
        content=STYLE.other_contents,
    conda:
        "../envs/style.yaml"
    params:
        height=STYLE.content_size(0),
        width=STYLE.content_size(1),
        code=code("style_prepare_content"),
    script:
        "../workflow_scripts/style/prepare_content.py"


rule style_cut_contents:
    """Prepare what is to be stylised and needs no file: bundled photographs, landscapes."""
    output:
        STYLE.contents(STYLE.made_here),
    log:
        "results/logs/style_cut_contents/style_cut_contents.log",
    benchmark:
        "results/benchmarks/style_cut_contents/style_cut_contents.tsv"
    priority: 50  # what is stylised first
    conda:
        "../envs/style.yaml"
    params:
        photographs=[
            STYLE.config["contents"][name] | {"name": name} for name in STYLE.made_here
        ],
        code=code("style_cut_contents"),
    script:
        "../workflow_scripts/style/cut_contents.py"
