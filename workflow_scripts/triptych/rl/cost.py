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
    product,
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
UPDATE_KERNELS, VAE_KERNELS = 250, 85
"""Of one update, as counted, and of one of the VAE alone."""
UPDATE = "rl update"
"""`Cost.step` of the trainings."""

Layers = list[tuple[int, int]]
"""Inputs and outputs of each."""


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


def chains(widths: Mapping[str, Any], task: str) -> dict[str, Layers]:
    """The layers of a run's networks in four chains; there are two critics.

    widths: an entry of the config's `rl.widths`.
    """
    observation, action = SIZES.get(task, ASSUMED)
    joint, latent = observation + action, 2 * action
    (a1, a2), (c1, c2), v = widths["actor"], widths["critic"], widths["vae"]
    return {
        "actor": [(joint, a1), (a1, a2), (a2, action)],
        "critic": [(joint, c1), (c1, c2), (c2, 1)],
        "encoder": [(joint, v), (v, v), (v, latent), (v, latent)],
        "decoder": [(observation + latent, v), (v, v), (v, action)],
    }


def parameter_count(widths: Mapping[str, Any], task: str, only_vae: bool = False) -> int:
    """Weights and biases of one run's networks."""
    numbers = {
        name: sum((inputs + 1) * outputs for inputs, outputs in layers)
        for name, layers in chains(widths, task).items()
    }
    if only_vae:
        return numbers["encoder"] + numbers["decoder"]
    return sum(numbers.values()) + numbers["critic"]


def update_work(
    widths: Mapping[str, Any],
    task: str,
    samples: int,
    batch: int,
    masked: bool,
    only_vae: bool = False,
) -> Work:
    """One update of one network: losses, gradients, Adam, targets.

    samples: sampled actions in the critic's target. only_vae: BC alone is trained.
    """
    of = chains(widths, task)
    if only_vae:
        work = _learnt(of["encoder"], batch, of_inputs=False) + _learnt(of["decoder"], batch)
        numbers = parameter_count(widths, task, only_vae)
        return replace(work + moved(numbers, 8 + (3 if masked else 0)), kernels=VAE_KERNELS)
    actor, critic, encoder, decoder = (of[n] for n in ("actor", "critic", "encoder", "decoder"))
    work = _forward(decoder + actor + 2 * critic, samples * batch)
    work += _learnt(encoder, batch, of_inputs=False) + _learnt(decoder, batch)
    work += _learnt(critic, batch, of_inputs=False) * 2
    # The critic passes the actor's gradient on without moving itself.
    work += _forward(decoder, batch) + _learnt(actor, batch, of_inputs=False)
    work += _forward(critic, batch) * 2
    numbers = parameter_count(widths, task)
    # Adam's four numbers read and written, the targets, the masks.
    passes = 8 + 2 * 0.5 + (3 if masked else 0)
    return replace(work + moved(numbers, passes), kernels=UPDATE_KERNELS)


def stack_work(
    widths: Mapping[str, Any],
    task: str,
    samples: int,
    batch: int,
    masked: bool,
    networks: int,
    only_vae: bool = False,
) -> Work:
    """One update of a stack of networks on a GPU.

    It replays an update as one CUDA graph, so that its kernels needn't be started singly.
    """
    work = update_work(widths, task, samples, batch, masked, only_vae).together(networks)
    return replace(work, kernels=1.0)


def acting_work(
    widths: Mapping[str, Any], task: str, episodes: int, candidates: int
) -> dict[str, Work]:
    """One step of all of a policy's episodes, by algorithm."""
    of = chains(widths, task)
    tried = of["decoder"] + of["actor"] + of["critic"]
    return {
        "BCQ": _forward(tried, episodes * candidates),
        "BC": _forward(of["decoder"], episodes),
    }


def _forward(layers: Layers, rows_: int) -> Work:
    """Through layers of which those with a successor have a ReLU, the last some pointwise maps."""
    work = Work()
    for inputs, outputs in layers:
        work += product(rows_, inputs, outputs) + moved(rows_ * outputs, 2)
    # Inputs are put together; what comes out is bent, scaled, clamped and compared.
    joined, made = layers[0][0], layers[-1][1]
    return work + moved(rows_ * (joined + 4 * made), 2, 8)


def _learnt(layers: Layers, rows_: int, of_inputs: bool = True) -> Work:
    """Forward, and backward to the weights; of_inputs: to the first layer's inputs as well."""
    work = _forward(layers, rows_)
    for number, (inputs, outputs) in enumerate(layers):
        times = 2 if number or of_inputs else 1
        work += product(rows_, inputs, outputs, times) + moved(rows_ * outputs, 5, 2)
    return work


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
    samples = config["bcq"]["target_samples"]
    algorithms = algorithms_of(config, wildcards["stack"])
    masked = bool((runs["method"] != "dense").any())
    only_vae = "BCQ" not in algorithms
    update = stack_work(widths, task, samples, training["batch"], masked, len(runs), only_vae)
    evaluations = -(-training["updates"] // evaluation["every"])
    acting = acting_work(widths, task, evaluation["episodes"], evaluation["candidates"])
    acts = sum((acting[name] for name in algorithms), Work()).together(len(runs))
    steps = evaluations * EPISODE * len(algorithms) * evaluation["episodes"] * len(runs)
    numbers = parameter_count(widths, task) * len(runs)
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
