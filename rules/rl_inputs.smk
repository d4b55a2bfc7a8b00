"""Data of offline RL: downloads, recordings of experts, files of the user."""

RL = STUDIES["rl"]


rule rl_download:
    """Download D4RL's data of one task, checked."""
    output:
        "results/rl/{task}/d4rl.hdf5",
    log:
        "results/logs/rl_download/{task}.log",
    benchmark:
        "results/benchmarks/rl_download/{task}.tsv"
    retries: RETRIES
    localrule: True
    conda:
        "../envs/download.yaml"
    params:
        url=lambda wildcards: RL.download(wildcards)["url"],
        mirrors=lambda wildcards: RL.download(wildcards)["mirrors"],
        size=lambda wildcards: RL.download(wildcards)["size"],
        sha256=lambda wildcards: RL.download(wildcards)["sha256"],
        lock=lambda wildcards: f"resources/locks/{RL.download(wildcards)['name']}.json",
        code=code("rl_download"),
    script:
        "../workflow_scripts/rl/download.py"


rule rl_minari:
    """Write a Minari data set, downloaded if it isn't there, in D4RL's layout."""
    output:
        "results/rl/{task}/minari.hdf5",
    log:
        "results/logs/rl_minari/{task}.log",
    benchmark:
        "results/benchmarks/rl_minari/{task}.tsv"
    retries: RETRIES
    localrule: True
    conda:
        "../envs/minari.yaml"
    params:
        dataset=lambda wildcards: RL.config["tasks"][wildcards.task]["dataset"],
        code=code("rl_minari"),
    script:
        "../workflow_scripts/rl/minari.py"


rule rl_collect:
    """Record a noisy expert in MuJoCo, in D4RL's layout, and prepare what was recorded."""
    input:
        expert=shipped("resources/experts/{task}.safetensors"),
    output:
        recorded="results/rl/{task}/collected.hdf5",
        transitions="results/rl/{task}/transitions.safetensors",
        dataset="results/rl/{task}/dataset.csv",
    log:
        "results/logs/rl_collect/{task}.log",
    benchmark:
        "results/benchmarks/rl_collect/{task}.tsv"
    wildcard_constraints:
        task=RL.tasks_from("collected"),
    priority: 45  # with rl_prune what Table 1 waits for
    conda:
        "../envs/rl.yaml"
    resources:
        **cluster(),
    params:
        task="{task}",
        collect=RL.collect,
        code=code("rl_collect"),
    script:
        "../workflow_scripts/rl/collect.py"


rule rl_prepare:
    """Check a task's data and turn them into transitions."""
    input:
        module_input(RL.source),
    output:
        transitions="results/rl/{task}/transitions.safetensors",
        dataset="results/rl/{task}/dataset.csv",
    log:
        "results/logs/rl_prepare/{task}.log",
    benchmark:
        "results/benchmarks/rl_prepare/{task}.tsv"
    wildcard_constraints:
        task=RL.tasks_from("d4rl", "path", "minari"),
    conda:
        "../envs/rl.yaml"
    resources:
        **cluster(),
    params:
        task=RL.task,
        source=lambda wildcards: RL.data[wildcards.task],
        d4rl_digests=RL.d4rl_digests,
        accepted=lambda wildcards: RL.config["tasks"][wildcards.task].get("accept", []),
        code=code("rl_prepare", methods=RL.environment_code),
    script:
        "../workflow_scripts/rl/prepare.py"
