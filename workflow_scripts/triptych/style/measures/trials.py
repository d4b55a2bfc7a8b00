"""The style study's steps at a config's sizes, on random images and random weights."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.core.cost import Work
from triptych.core.device import choose_precision
from triptych.core.trial import Trial, refuse
from triptych.style.backbones.architectures import ARCHITECTURES
from triptych.style.backbones.backbone import IMAGENET_MEAN, IMAGENET_STD, Backbone, PoolingKind
from triptych.style.cost import CLOSURE, FORWARD, TRAINING
from triptych.style.feedforward.fast import PreparedNetwork
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import LossSettings, PerceptualLoss
from triptych.style.feedforward.training import TrainingRun, initial_network
from triptych.style.feedforward.training_data import TrainingSettings
from triptych.style.optimisation.experiments import choices_of, experiment_runs
from triptych.style.optimisation.gatys import Optimisation
from triptych.style.optimisation.presets import OURS, Choices, timed_choices
from triptych.style.work import closure_work, forward_work, training_work

Config = Mapping[str, Any]
MANY = 10**9
"""Evaluations and batches: more than there will be."""


def training_trials(config: Config, device: torch.device) -> Iterator[Trial]:
    """A step of Version 2's training without temporal term. config: the section `style`."""
    training, name = config["training"], config["backbones"]["loss"]["architecture"]
    precision = choose_precision(training["schedule"]["precision"], device, "training")
    schedule = TrainingSettings(**{**training["schedule"], "precision": precision, "batches": MANY})
    architecture = Architecture(**config["network"])
    network = initial_network(architecture, schedule.seed)
    losses = LossSettings.from_table({**config["losses"], "temporal_weight": 0.0})
    painting = training["painting_size"]
    loss = PerceptualLoss(
        random_backbone(name, training["pooling"], device),
        losses,
        [images(3, painting, painting * 4 // 3).to(device)],
    )
    run = TrainingRun(network, loss, schedule, device, Path("unused"))
    batch = (255 * images(schedule.batch, 3, schedule.size, schedule.size)).byte()
    yield Trial(
        TRAINING,
        f"{schedule.batch} images of {schedule.size} px, width {architecture.width}, {name}",
        schedule.precision,
        lambda _: run.step(batch),
        lambda: training_work(
            config["network"],
            {**config["losses"], "temporal_weight": 0.0},
            name,
            training["pooling"],
            schedule.batch,
            schedule.size,
            schedule.precision,
        ),
        lambda: refuse(run.trouble()),
    )


def closure_trials(config: Config, device: torch.device) -> Iterator[Trial]:
    """An evaluation of Version 1 and its step: of one image of the largest experiment, and of a
    batch of Table I at each of its sizes."""
    rows = experiment_runs(config["optimize"], config["experiments"], config["backbones"])
    largest: dict[Any, Any] = max(
        rows.to_dict("records"), key=lambda row: (row["size"], row["evaluations"])
    )
    yield _closure(largest["architecture"], choices_of(largest), largest["size"], 1, device)
    timing, name = config["timing"], config["backbones"]["vgg"]["architecture"]
    for size in timing["sizes"]:
        choices = timed_choices(OURS, name)
        yield _closure(name, choices, size, timing["batch"], device)


def _closure(name: str, choices: Choices, size: int, count: int, device: torch.device) -> Trial:
    precision: Any = choose_precision(choices.precision, device, "unscaled")
    choices = replace(choices, precision=precision)
    contents = list(images(count, 3, size, size).to(device))
    paintings = list(images(1, 3, size, size).to(device)) * count
    backbone = random_backbone(name, choices.pooling, device)
    optimisation = Optimisation(contents, paintings, backbone, choices, MANY, [0] * count)

    def check() -> None:
        # An image that has stopped leaves the batch, and what follows isn't its time.
        refuse(", ".join(each for each in optimisation.result().reasons if each))

    def call(_: int) -> None:
        if optimisation.finished:
            check()
        optimisation.advance()

    return Trial(
        CLOSURE,
        f"{count} of {size} px, {name}",
        choices.precision,
        call,
        lambda: closure_work(name, choices, size).together(count),
        check,
    )


def forward_trials(config: Config, device: torch.device) -> Iterator[Trial]:
    """One image through the network of Version 2, at Table I's sizes."""
    architecture = Architecture(**config["network"])
    precision: Any = choose_precision(config["stylised"]["precision"], device, "inference")
    network = PreparedNetwork(TransformationNetwork(architecture).to(device), precision)
    for size in config["timing"]["sizes"]:
        yield _forward(network, config["network"], precision, images(1, 3, size, size).to(device))


def _forward(
    network: PreparedNetwork, sizes: Mapping[str, Any], precision: str, image: Tensor
) -> Trial:
    size = image.shape[-1]

    def work() -> Work:
        return forward_work(sizes, size, size)

    def check() -> None:
        refuse("" if network(image).isfinite().all() else "the image is not finite")

    return Trial(
        FORWARD,
        f"1 of {size} px, width {sizes['width']}",
        precision,
        lambda _: network(image),
        work,
        check,
    )


def random_backbone(name: str, pooling: PoolingKind, device: torch.device) -> Backbone:
    """He's initialisation in a known architecture: speed and memory are those of any weights."""
    generator = torch.Generator().manual_seed(0)
    weights = {
        key: torch.randn(shape, generator=generator) * (2 / max(1, shape[1:].numel())) ** 0.5
        if len(shape) > 1
        else torch.zeros(shape)
        for key, shape in (
            (key, torch.Size(shape)) for key, shape in ARCHITECTURES[name].shapes().items()
        )
    }
    return Backbone(
        ARCHITECTURES[name], weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling=pooling
    ).to(device)


def images(*shape: int) -> Tensor:
    """Random images [*shape] in [0, 1], on the CPU."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0))


TRIALS: dict[str, Callable[[Config, torch.device], Iterator[Trial]]] = {
    "training": training_trials,
    "closure": closure_trials,
    "forward": forward_trials,
}
