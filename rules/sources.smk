"""Where the data come from: downloads, experts and what they record, the user's own files."""

import yaml

SOURCES = yaml.safe_load(
    (Path(workflow.basedir) / "resources" / "sources.yaml").read_text(encoding="utf-8")
)


def rl_source(wildcards):
    """The HDF5 file of a task, by its source in config."""
    task = config["rl"]["tasks"][wildcards.task]
    return {
        "d4rl": f"results/rl/{wildcards.task}/d4rl.hdf5",
        "collected": f"results/rl/{wildcards.task}/collected.hdf5",
        "path": task.get("path"),
    }[task["source"]]


def d4rl_file(key):
    """An entry's value for a task's file in resources/sources.yaml."""
    return lambda wildcards: SOURCES["d4rl"]["files"][f"{wildcards.task}_expert-v2"][key]


rule rl_download:
    """Download D4RL's expert data of one task, checked."""
    output:
        "results/rl/{task}/d4rl.hdf5",
    params:
        url=d4rl_file("url"),
        mirrors=lambda wildcards: [d4rl_file("mirror")(wildcards)],
        size=d4rl_file("size"),
        sha256=d4rl_file("sha256"),
        lock=lambda wildcards: f"resources/locks/{wildcards.task}_expert-v2.json",
        code=code("rl_download"),
    log:
        "results/logs/rl_download/{task}.log",
    benchmark:
        "results/benchmarks/rl_download/{task}.tsv"
    retries: 2
    threads: 1
    resources:
        mem_mb=500,
        runtime=120,
    conda:
        "../envs/download.yaml"
    script:
        "../workflow_scripts/rl_download.py"


rule rl_train_expert:
    """Train a linear expert by augmented random search (resources/experts/ ships the results)."""
    output:
        "results/rl/experts/{task}.json",
    params:
        task="{task}",
        settings=lambda wildcards: config["rl"]["experts"][wildcards.task],
        checkpoint="results/checkpoints/rl_train_expert/{task}",
        code=code("rl_train_expert"),
    log:
        "results/logs/rl_train_expert/{task}.log",
    benchmark:
        "results/benchmarks/rl_train_expert/{task}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    conda:
        "../envs/rl.yaml"
    script:
        "../workflow_scripts/rl_train_expert.py"


rule rl_collect:
    """Record a noisy expert in MuJoCo, in D4RL's layout."""
    input:
        expert="resources/experts/{task}.json",
    output:
        "results/rl/{task}/collected.hdf5",
    params:
        task="{task}",
        transitions=config["rl"]["collect"]["transitions"],
        sigma=config["rl"]["collect"]["noise"],
        seed=config["rl"]["collect"]["seed"],
        code=code("rl_collect"),
    log:
        "results/logs/rl_collect/{task}.log",
    benchmark:
        "results/benchmarks/rl_collect/{task}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    conda:
        "../envs/rl.yaml"
    script:
        "../workflow_scripts/rl_collect.py"


rule rl_prepare:
    """Check a task's data and turn them into transitions."""
    input:
        rl_source,
    output:
        transitions="results/rl/{task}/transitions.safetensors",
        dataset="results/rl/{task}/dataset.csv",
    params:
        task="{task}",
        source=lambda wildcards: config["rl"]["tasks"][wildcards.task]["source"],
        code=code("rl_prepare"),
    log:
        "results/logs/rl_prepare/{task}.log",
    benchmark:
        "results/benchmarks/rl_prepare/{task}.tsv"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    conda:
        "../envs/rl.yaml"
    script:
        "../workflow_scripts/rl_prepare.py"
