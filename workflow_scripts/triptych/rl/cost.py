"""What the jobs of the offline-RL study cost, by their config."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import torch

from triptych.core.cost import Cost, download
from triptych.core.device import precision_on_gpus
from triptych.core.operations import Work, counted, shapes_only
from triptych.rl.bcq import Batch, BcqSettings, Learner, Noise, StepSettings
from triptych.rl.evaluation import act_bcq
from triptych.rl.locomotion import HORIZON, task_named
from triptych.rl.networks import MAX_ACTION, Parameters, Widths, decode, layer_shapes
from triptych.rl.sweep import STACK, algorithms_of, runs_of

STEPS_A_SECOND = 18_000
"""Environment steps on one core, for all three tasks: measured (docs/performance.md)."""
TRANSITIONS = {"d4rl": 1_000_000, "path": 1_000_000}
"""Of a task's data set; D4RL's have a million rows, a user's own are taken to have as many."""
FLOAT = 4
UPDATE = "rl update"
"""`Cost.step` of the trainings."""


def job_cost(
    config: Mapping[str, Any], sources: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]
) -> Cost:
    """The cost of one job. config: the section `rl`; sources: resources/sources.yaml."""
    kinds: dict[str, Callable[[], Cost]] = {
        "rl_download": lambda: _download(sources, wildcards["task"]),
        "rl_collect": lambda: Cost(
            cpu_seconds=config["collect"]["transitions"] / STEPS_A_SECOND,
            disk=2 * _dataset_bytes(wildcards["task"], config),  # recorded, and prepared
        ),
        "rl_prepare": lambda: Cost(disk=_dataset_bytes(wildcards["task"], config)),
        "rl_prune": lambda: _prune(config),
        "rl_train": lambda: _train(config, wildcards),
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
        name += "" if run.trained else ", measured"
        made = "scores.csv" if run.trained else "sizes.csv"
        files[name] = f"results/rl/{run.task}/{run.networks}/{run.stack}/{made}"
    return files


def update_work(widths: Widths, task: str, bcq: BcqSettings, batch: int, masked: bool) -> Work:
    """One update of one network: losses, gradients, Adam, targets."""
    sizes = task_named(task).observation_size, task_named(task).action_size
    observation, action = sizes
    with shapes_only():
        parameters = _parameters(widths, sizes)
        masks = {name: value != 0 for name, value in parameters.items() if "weight" in name}
        learner = Learner(
            parameters, masks if masked else {}, bcq, StepSettings(batch, 1e-3, 5e-3), False
        )
        data = Batch(
            torch.empty(1, batch, observation),
            torch.empty(1, batch, action),
            torch.empty(1, batch),
            torch.empty(1, batch, observation),
            torch.empty(1, batch),
        )
        latents = (torch.empty(1, batch * n, 2 * action) for n in (1, bcq.target_samples, 1))
        encoder, target, actor = latents
        noise = Noise(encoder=encoder, target=target, actor=actor)
        return counted(lambda: learner.update(data, noise))


def stack_work(
    widths: Widths, task: str, bcq: BcqSettings, batch: int, masked: bool, networks: int
) -> Work:
    """One update of a stack of networks on a GPU.

    It replays an update as one CUDA graph, so that its kernels needn't be started singly.
    """
    work = update_work(widths, task, bcq, batch, masked).together(networks)
    return replace(work, kernels=1.0)


def acting_work(widths: Widths, task: str, episodes: int, candidates: int) -> dict[str, Work]:
    """One step of all of a policy's episodes, by algorithm."""
    sizes = task_named(task).observation_size, task_named(task).action_size
    with shapes_only(), torch.no_grad():
        parameters = _parameters(widths, sizes)
        state = torch.empty(1, episodes, sizes[0])
        latent = torch.empty(1, episodes, candidates, 2 * sizes[1])
        return {
            "BCQ": counted(lambda: act_bcq(parameters, state, latent, 0.05)),
            "BC": counted(lambda: decode(parameters, state, latent[:, :, 0], MAX_ACTION)),
        }


def parameter_count(widths: Widths, task: str) -> int:
    """Weights and biases of one run's networks."""
    sizes = task_named(task).observation_size, task_named(task).action_size
    return sum((i + 1) * o for i, o in layer_shapes(widths, *sizes).values())


def _parameters(widths: Widths, sizes: tuple[int, int]) -> Parameters:
    parameters: Parameters = {}
    for layer, (inputs, outputs) in layer_shapes(widths, *sizes).items():
        parameters[f"{layer}.weight"] = torch.empty(1, inputs, outputs)
        parameters[f"{layer}.bias"] = torch.empty(1, 1, outputs)
    return parameters


def _download(sources: Mapping[str, Any], task: str) -> Cost:
    file = sources["d4rl"]["files"][f"{task}_expert-v2"]
    return download(file["size"], 240e6)


def _dataset_bytes(task: str, config: Mapping[str, Any]) -> float:
    kind = config["tasks"][task]["source"]
    rows_ = TRANSITIONS.get(kind, config["collect"]["transitions"])
    observation, action = task_named(task).observation_size, task_named(task).action_size
    return rows_ * (2 * observation + action + 2) * FLOAT


def _stack(config: Mapping[str, Any], wildcards: Mapping[str, str]) -> pd.DataFrame:
    table = runs_of(config)
    return table[(table[STACK] == [wildcards[key] for key in STACK]).all(axis=1)]


def _prune(config: Mapping[str, Any]) -> Cost:
    widths = Widths.from_table(config["widths"][config["measure"]["widths"]])
    runs = runs_of(config)
    measured = runs[~runs["trained"]]["task"]
    return Cost(disk=sum(parameter_count(widths, task) for task in measured) / 8)


def _train(config: Mapping[str, Any], wildcards: Mapping[str, str]) -> Cost:
    task, training, evaluation = wildcards["task"], config["training"], config["evaluation"]
    widths = Widths.from_table(config["widths"][wildcards["networks"]])
    runs = _stack(config, wildcards)
    bcq = BcqSettings.from_table(config["bcq"])
    algorithms = algorithms_of(config, wildcards["stack"])
    masked = bool((runs["method"] != "dense").any())
    update = stack_work(widths, task, bcq, training["batch"], masked, len(runs))
    evaluations = -(-training["updates"] // evaluation["every"])
    acting = acting_work(widths, task, evaluation["episodes"], evaluation["candidates"])
    acts = sum((acting[name] for name in algorithms), Work()).together(len(runs))
    steps = evaluations * HORIZON * len(algorithms) * evaluation["episodes"] * len(runs)
    parameters = parameter_count(widths, task) * len(runs)
    return Cost(
        # Acting is outside `precision_context`, in float32.
        work=_by_precision(
            (precision_on_gpus(training["precision"], "unscaled"), update * training["updates"]),
            ("float32", acts * evaluations * HORIZON),
        ),
        step=UPDATE,
        cpu_seconds=steps / STEPS_A_SECOND,
        disk=parameters * (FLOAT + 1 / 8),  # and the masks
        scratch=parameters * FLOAT * 3.25,  # weights, two moments, targets of actor and critic
    )


def _by_precision(*parts: tuple[str, Work]) -> dict[str, Work]:
    work: dict[str, Work] = {}
    for precision, each in parts:
        work[precision] = work.get(precision, Work()) + each
    return work
