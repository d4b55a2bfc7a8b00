"""What the jobs of the offline-RL study cost, by their config."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from triptych.core.cost import (
    FLOAT,
    Cost,
    Work,
    by_precision,
    download,
    kept,
    moved,
    precision_on_gpus,
)
from triptych.rl.algorithms.registry import (
    ALGORITHMS,
    Algorithm,
    Bcq,
    Layers,
    Widths,
    forward,
    layer_shapes,
)
from triptych.rl.config_tasks import d4rl_file, with_quality
from triptych.rl.sweep import DEFAULT, STACK, algorithms_of, runs_of
from triptych.rl.tasks import ASSUMED, SIZES

STEPS_A_SECOND = 18_000
"""Environment steps on one core, for all three tasks: measured (docs/performance.md)."""
EPISODE = 1000
"""Steps, where nothing ends it before."""
PRUNINGS_A_SECOND = 6.0
"""Networks of the paper's widths, by one core: measured."""
LATENCY_SECONDS = 3.0
"""Of one core for a round at a size of batches, all kernels: assumed."""
DEPLOYED = 4
"""Policies whose scores it takes as well: a dense and a pruned one, in float32 and in int8."""
RECORDED = {"d4rl": 1_000_000, "path": 1_000_000, "minari": 1_000_000}
"""Transitions of a data set; D4RL's have a million, others are taken to have as many."""
LEARNER = 5
"""Copies of all parameters while a network learns: itself, targets, gradients, two moments."""
UPDATE = "rl update"
"""`Cost.step` of the trainings."""


def job_cost(
    config: Mapping[str, Any], sources: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]
) -> Cost:
    """The cost of one job. config: the section `rl`; sources: resources/sources.yaml."""
    kinds: dict[str, Callable[[], Cost]] = {
        "rl_download": lambda: _download(sources, config, wildcards),
        "rl_train_expert": lambda: Cost(
            cpu_seconds=3
            * config["experts"][wildcards["task"] + wildcards["quality"]]["steps"]
            / STEPS_A_SECOND
        ),
        "rl_collect": lambda: Cost(
            cpu_seconds=config["collect"]["transitions"] / STEPS_A_SECOND,
            disk=2 * _dataset_bytes(wildcards["task"], config),  # recorded, and prepared
        ),
        "rl_minari": lambda: Cost(disk=_dataset_bytes(wildcards["task"], config)),
        "rl_prepare": lambda: Cost(
            disk=_dataset_bytes(wildcards["task"], config),
            memory=4 * _dataset_bytes(wildcards["task"], config),
        ),
        "rl_prune": lambda: _prune(config),
        "rl_train": lambda: _train(config, wildcards),
        "rl_latency": lambda: Cost(
            cpu_seconds=LATENCY_SECONDS
            * config["latency"]["repeats"]
            * len(config["latency"]["batches"])
            + DEPLOYED * config["evaluation"]["episodes"] * EPISODE / STEPS_A_SECOND,
            memory=2 * _dataset_bytes(wildcards["task"], config),
        ),
        "rl_bench": lambda: _bench(config["bench"]),
    }
    return kinds[rule]() if rule in kinds else Cost()


def notes(config: Mapping[str, Any]) -> list[str]:
    """It asks for no money."""
    return []


def rows(config: Mapping[str, Any]) -> dict[str, str]:
    """A file of the workflow for every row of the experiment table, by the row's name."""
    files = {}
    for run in runs_of(config).itertuples():
        name = f"{run.task} {run.sweep} {run.observations} {run.method} {run.sparsity_percent}% "
        name += f"seed {run.seed}"
        name += "" if run.pruning == DEFAULT else f", {run.pruning}"
        name += "" if run.trained else ", measured"
        made = "scores.csv" if run.trained else "sizes.csv"
        files[name] = f"results/rl/{run.task}/{run.networks}/{run.stack}/{made}"
    return files


def parameter_count(
    widths: Mapping[str, Any], task: str, algorithm: type[Algorithm] = Bcq, *networks: str
) -> int:
    """Weights and biases of one run's networks, or of those named."""
    shapes = layer_shapes(Widths.from_table(widths), *SIZES.get(task, ASSUMED), algorithm)
    counts = {name: (inputs + 1) * outputs for name, (inputs, outputs) in shapes.items()}
    counts |= dict.fromkeys(algorithm.free, SIZES.get(task, ASSUMED)[1])
    return sum(
        count
        for name, count in counts.items()
        if not networks or name.partition(".")[0] in networks
    )


def update_work(
    algorithm: Algorithm, widths: Mapping[str, Any], task: str, batch: int, masked: bool
) -> Work:
    """One update of one network: losses, gradients, Adam, targets; of a period's, the mean."""

    kind, period = type(algorithm), algorithm.period()
    work = algorithm.losses_work(_layers(widths, task, kind), batch)
    for network in algorithm.learning:
        numbers = parameter_count(widths, task, kind, network)
        # Adam's four numbers read and written, and the masks; then its target.
        passes = (11 if masked else 8) / (period if network in algorithm.delayed() else 1)
        work += moved(numbers, passes + (3 / period if network in algorithm.targets else 0))
    return replace(work, kernels=algorithm.kernels)


def stack_work(
    algorithm: Algorithm,
    widths: Mapping[str, Any],
    task: str,
    batch: int,
    masked: bool,
    networks: int,
) -> Work:
    """One update of a stack of networks on a GPU.

    It replays an update as one CUDA graph, so that its kernels needn't be started singly.
    """
    work = update_work(algorithm, widths, task, batch, masked).together(networks)
    return replace(work, kernels=1.0)


def acting_work(
    algorithm: type[Algorithm], widths: Mapping[str, Any], task: str, rows_: int
) -> Work:
    """One act of so many observations, or candidates."""
    of = _layers(widths, task, algorithm)
    return forward([layer for group in algorithm.acts_with for layer in of[group]], rows_)


def _layers(widths: Mapping[str, Any], task: str, algorithm: type[Algorithm]) -> dict[str, Layers]:
    """The layers of the first chain of each group."""
    found: dict[str, Layers] = {}
    for each in algorithm.chains:
        shapes = each.layers(Widths.from_table(widths), *SIZES.get(task, ASSUMED))
        found.setdefault(each.group, list(shapes.values()))
    return found


def _download(
    sources: Mapping[str, Any], config: Mapping[str, Any], wildcards: Mapping[str, str]
) -> Cost:
    table = with_quality(config["tasks"][wildcards["task"]], wildcards["quality"])
    file = sources["d4rl"]["files"][d4rl_file(wildcards["task"], table)]
    return download(file["size"], 240e6)


def _dataset_bytes(task: str, config: Mapping[str, Any]) -> float:
    kind, quality = config["tasks"][task]["source"], config["tasks"][task].get("quality")
    count = RECORDED.get(kind, config["collect"]["transitions"])
    count *= 2 if quality == "medium-expert" else 1  # both files in one
    observation, action = SIZES.get(task, ASSUMED)
    return count * (2 * observation + action + 2) * FLOAT


def _stack(config: Mapping[str, Any], wildcards: Mapping[str, str]) -> pd.DataFrame:
    table = runs_of(config)
    return table[(table[STACK] == [wildcards[key] for key in STACK]).all(axis=1)]


def _prune(config: Mapping[str, Any]) -> Cost:
    widths = config["widths"][config["measure"]["widths"]]
    runs = runs_of(config)
    measured = runs[~runs["trained"]]["task"]
    numbers = [parameter_count(widths, task) for task in measured]
    at_once = max(measured.value_counts()) * max(numbers)
    return Cost(
        cpu_seconds=len(measured) / PRUNINGS_A_SECOND,
        disk=sum(numbers) / 8,
        memory=2 * max(_dataset_bytes(task, config) for task in set(measured)),
        tensors=LEARNER * FLOAT * at_once,
    )


def _train(config: Mapping[str, Any], wildcards: Mapping[str, str]) -> Cost:
    task, training, evaluation = wildcards["task"], config["training"], config["evaluation"]
    widths = config["widths"][wildcards["networks"]]
    runs = _stack(config, wildcards)
    found = algorithms_of(config, wildcards["stack"]).items()
    algorithms = [ALGORITHMS[name].from_table(table) for name, table in found]
    trained, batch = algorithms[0], training["batch"]
    masked = bool((runs["method"] != "dense").any())
    update = stack_work(trained, widths, task, batch, masked, len(runs))
    evaluations = -(-training["updates"] // evaluation["every"])
    acts = Work()
    for each in algorithms:
        tried = evaluation["candidates"] if each.chooses else 1
        acts += acting_work(type(each), widths, task, evaluation["episodes"] * tried)
    acts = acts.together(len(runs))
    steps = evaluations * EPISODE * len(algorithms) * evaluation["episodes"] * len(runs)
    numbers = parameter_count(widths, task, type(trained)) * len(runs)
    learnt = precision_on_gpus(training["precision"], "unscaled"), update * training["updates"]
    acted = "float32", acts * evaluations * EPISODE  # outside `precision_context`
    return Cost(
        work=by_precision(learnt, acted),
        step=UPDATE,
        cpu_seconds=steps / STEPS_A_SECOND,
        disk=numbers * (FLOAT + 1 / 8),  # and the masks
        scratch=numbers * FLOAT * 3.25,  # weights, two moments, targets of actor and critic
        memory=2 * _dataset_bytes(task, config) + LEARNER * FLOAT * numbers,  # one to be saved
        tensors=LEARNER * FLOAT * numbers + kept(update),
    )


def _bench(bench: Mapping[str, Any]) -> Cost:
    measured = 2 * len(bench["stacks"]) * len(bench["precisions"]) * bench["rounds"]
    return Cost(cpu_seconds=measured * bench["seconds"], memory=2e9)
