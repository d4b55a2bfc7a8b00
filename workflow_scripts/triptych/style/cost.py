"""What the jobs of the style study cost, by their config."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import torch

from triptych.core.cost import GB, Cost, download
from triptych.core.device import precision_on_gpus, training_precision
from triptych.core.operations import Work, counted, shapes_only
from triptych.style.backbones.architectures import ARCHITECTURES
from triptych.style.backbones.backbone import IMAGENET_MEAN, IMAGENET_STD, Backbone, PoolingKind
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import LossSettings, PerceptualLoss
from triptych.style.optimisation.experiments import experiment_records, experiment_runs
from triptych.style.optimisation.objective import Objective
from triptych.style.optimisation.optimizers import row_optimizer
from triptych.style.optimisation.presets import CONTENT_LOSSES, Choices, preset
from triptych.style.optimisation.runs import choices_of

COCO_PHOTOGRAPHS = 118_287
PREPARE_SECONDS = 0.005
"""Of one core to decode, cut and store a photograph of COCO: measured, 3.4 ms of it decoding."""
CROP_BYTES = 26e3
"""Of a stored crop of 256 pixels: measured; others by their pixels."""
FRAME_SECONDS = 0.02
"""Of one core to read, convert and store a frame of a megapixel: assumed."""
PHOTOGRAPH = (427, 640)
"""Height and width of most bundled photographs."""
FLOAT = 4
WEIGHTS_BYTES = {"vgg16": 553e6, "vgg19": 575e6, "alexnet": 244e6}
CPU = torch.device("cpu")
TRAINING, CLOSURE, FORWARD = "style training step", "style closure", "style forward"
"""`Cost.step` of Version 2's trainings, of Version 1 and of stylising."""


def job_cost(
    config: Mapping[str, Any], sources: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]
) -> Cost:
    """The cost of one job. config: the section `style`; sources: resources/sources.yaml."""
    jobs = _Jobs(config, sources, wildcards)
    job: Callable[[], Cost] | None = getattr(jobs, rule, None)
    return job() if job else Cost()


def notes(config: Mapping[str, Any]) -> list[str]:
    """It asks for no money."""
    return []


def rows(config: Mapping[str, Any]) -> dict[str, str]:
    """A file of the workflow for every row of the experiment table and Table I, by its name."""
    runs = experiment_runs(config["optimize"], config["experiments"], config["backbones"])
    files = {
        f"{run['experiment']} {run['run']}": f"results/style/optimize/{run['experiment']}/runs.csv"
        for run in runs.to_dict("records")
    }
    files |= {
        f"Table I, {size} pixels": "results/style/timing/images.csv"
        for size in config["timing"]["sizes"]
    }
    networks = config["networks"]
    for painting, variant in itertools.product(networks["trained"], networks["variants"]):
        name = f"network of {painting}, {variant}"
        files[name] = f"results/style/networks/{painting}/{variant}/network.safetensors"
    return files


@lru_cache(maxsize=64)
def closure_work(architecture: str, choices: Choices, size: int) -> Work:
    """One evaluation of Version 1: the loss of one square image, its gradient, the step."""
    with shapes_only():
        image = torch.empty(1, 3, size, size)
        objective = Objective(
            _backbone(architecture, choices.pooling),
            replace(choices, precision="float32"),
            [image[0]],
            [image[0]],
        )
        leaf = image.requires_grad_()
        total = counted(lambda: torch.autograd.grad(objective.terms(leaf).total.sum(), leaf))
    return total + _step_work(choices, 3 * size * size)


@lru_cache(maxsize=8)
def training_work(
    architecture: Architecture,
    loss: LossSettings,
    backbone: str,
    pooling: PoolingKind,
    painting: int,
    batch: int,
    size: int,
    precision: str,
) -> Work:
    """One step of Version 2: the network and the loss forward and backward, and Adam."""
    with shapes_only():
        network = TransformationNetwork(architecture)
        adam = torch.optim.Adam(network.parameters(), fused=True)
        objective = PerceptualLoss(
            _backbone(backbone, pooling), loss, torch.empty(3, painting, painting * 4 // 3)
        )
        images = torch.empty(batch, 3, size, size)

        def step() -> None:
            with training_precision(CPU, precision):
                stylised = network(images)
                terms = list(objective.terms(images, stylised).values())
                if loss.temporal_weight:
                    terms.append((network(images) - stylised).float().square().mean())
            torch.stack(terms).sum().backward()
            adam.step()

        return counted(step)


@lru_cache(maxsize=32)
def forward_work(architecture: Architecture, height: int, width: int) -> Work:
    """One image through the network of Version 2."""
    with shapes_only(), torch.no_grad():
        network = TransformationNetwork(architecture)
        images = torch.empty(1, 3, height, width)
        return counted(lambda: network(images))


class _Row(NamedTuple):
    architecture: str
    choices: Choices
    size: int
    evaluations: int


class _Jobs:
    """A method for each rule that costs something."""

    def __init__(
        self,
        config: Mapping[str, Any],
        sources: Mapping[str, Any],
        wildcards: Mapping[str, str],
    ) -> None:
        self._config, self._sources, self._wildcards = config, sources, wildcards
        self._network = Architecture(**config["network"])
        self._schedule = config["training"]["schedule"]
        self._training = precision_on_gpus(self._schedule["precision"], "training")
        self._inference = precision_on_gpus(config["stylised"]["precision"], "inference")

    def style_download_coco(self) -> Cost:
        return download(self._sources["coco"]["files"]["train2017"]["size"], 19.3 * GB)

    def style_download_weights(self) -> Cost:
        name = self._wildcards["architecture"]
        cost = download(self._sources["backbones"]["files"][name]["size"], WEIGHTS_BYTES[name])
        kept = sum(_numbers(shape) for shape in ARCHITECTURES[name].shapes().values())
        return replace(cost, disk=FLOAT * kept)

    def style_download_painting(self) -> Cost:
        return download(
            self._sources["paintings"]["files"][self._wildcards["painting"]]["size"], 2e6
        )

    def style_prepare_coco(self) -> Cost:
        return Cost(
            cpu_seconds=COCO_PHOTOGRAPHS * PREPARE_SECONDS,
            cores=8,
            disk=COCO_PHOTOGRAPHS * self._crop_bytes(),
        )

    def style_prepare_photographs(self) -> Cost:
        photographs = self._config["photographs"]
        return Cost(disk=photographs["crops"] * self._crop_bytes())

    def style_optimize(self) -> Cost:
        config, experiment = self._config, self._wildcards["experiment"]
        runs = experiment_runs(config["optimize"], config["experiments"], config["backbones"])
        own = experiment_records(runs, experiment)
        groups: dict[_Row, int] = {}
        for record in own:
            choices = choices_of(record)
            row = _Row(record["architecture"], choices, record["size"], record["evaluations"])
            groups[row] = groups.get(row, 0) + 1
        work: dict[str, Work] = {}
        for row, count in groups.items():
            one = closure_work(row.architecture, row.choices, row.size)
            kind = precision_on_gpus(row.choices.precision, "unscaled")
            work[kind] = work.get(kind, Work()) + one.together(count) * row.evaluations
        return Cost(
            work=work,
            step=CLOSURE,
            disk=sum(2 * record["size"] ** 2 for record in own),
        )

    def style_train(self) -> Cost:
        schedule = self._schedule
        kept = -(-schedule["batches"] // schedule["checkpoint_every"])
        weights = FLOAT * _parameters(self._network)
        return Cost(
            work={self._training: self._step(schedule["batch"]) * schedule["batches"]},
            step=TRAINING,
            disk=kept * weights,
            scratch=(kept + 3) * weights,
        )

    def style_select(self) -> Cost:
        # A step forward only: a third of one with its gradient.
        kept = -(-self._schedule["batches"] // self._schedule["checkpoint_every"])
        batches = -(-self._config["photographs"]["held_out"] // self._schedule["batch"])
        step = self._step(self._schedule["batch"]) * (1 / 3)
        return Cost(
            work={self._training: step * (kept * batches)},
            step=TRAINING,
            disk=FLOAT * _parameters(self._network),
        )

    def style_stylize(self) -> Cost:
        shown = self._config["stylised"]
        names = dict.fromkeys([*shown["contents"], shown["large"]])
        sizes = [self._config["contents"][name].get("size") or PHOTOGRAPH for name in names]
        work = sum((forward_work(self._network, *size) for size in sizes), Work())
        pixels = sum(height * width for height, width in sizes)
        return Cost(work={self._inference: work}, step=FORWARD, disk=2 * pixels)

    def style_video(self) -> Cost:
        video, film = self._config["video"], self._config["video"]["film"]
        frame = forward_work(self._network, film["height"], film["width"])
        timed = 2 * video["speed"]["repeats"] * video["speed"]["frames"]
        pixels = film["height"] * film["width"]
        return Cost(
            work={self._inference: frame * (film["frames"] + timed)},
            step=FORWARD,
            cpu_seconds=film["frames"] * FRAME_SECONDS * pixels / 1e6,
            disk=film["frames"] * pixels * 2,
        )

    def style_time(self) -> Cost:
        timing, backbones = self._config["timing"], self._config["backbones"]
        first = second = Work()
        for role in ("alexnet", "vgg"):
            name = backbones[role]["architecture"]
            choices = preset("authors", name, clamp="end", history=10)
            for size in timing["sizes"]:
                batches = -(-timing["photographs"] // timing["batch"])
                each = closure_work(name, choices, size).together(timing["batch"])
                first += each * (batches * timing["evaluations"])
        losses = timing["losses"]
        name = backbones["vgg"]["architecture"]
        for kind in CONTENT_LOSSES:
            choices = preset("authors", name, clamp="end", history=10, content_loss=kind)
            each = closure_work(name, choices, losses["size"])
            first += each * (losses["evaluations"] * losses["repeats"])
        for size in timing["sizes"]:
            forward = forward_work(self._network, size, size)
            second += forward * (timing["repeats"] * timing["photographs"])
        if self._inference == "float32":
            return Cost(work={"float32": first + second}, step=CLOSURE)
        return Cost(work={"float32": first, self._inference: second}, step=CLOSURE)

    def _step(self, batch: int) -> Work:
        losses = self._config["losses"]
        if self._wildcards["variant"] != "temporal":
            losses = {**losses, "temporal_weight": 0.0}
        return training_work(
            self._network,
            LossSettings.from_table(losses),
            self._config["backbones"]["loss"]["architecture"],
            self._config["training"]["pooling"],
            self._config["training"]["painting_size"],
            batch,
            self._schedule["size"],
            self._training,
        )

    def _crop_bytes(self) -> float:
        return CROP_BYTES * (self._config["photographs"]["size"] / 256) ** 2


def _backbone(architecture: str, pooling: PoolingKind) -> Backbone:
    known = ARCHITECTURES[architecture]
    weights = {name: torch.empty(shape) for name, shape in known.shapes().items()}
    return Backbone(known, weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling=pooling)


@lru_cache(maxsize=32)
def _step_work(choices: Choices, values: int) -> Work:
    """The optimiser's part of an evaluation, once its memory is full.

    Run on a few values, since how it goes on depends on them, and scaled to all.
    """
    few = 300
    rows_ = torch.linspace(-1, 1, few)[None].clone()
    steepness = torch.logspace(-4, 0, few)
    optimizer = row_optimizer(choices, rows_)

    def step() -> None:
        gradients = optimizer.rows * steepness
        optimizer.step((gradients * optimizer.rows).sum(1) / 2, gradients)

    full = choices.history + 1 if choices.optimizer == "lbfgs" else 1
    for _ in range(full):
        step()
    work = counted(step)
    return replace(work, traffic=work.traffic * values / few)


@lru_cache(maxsize=8)
def _parameters(architecture: Architecture) -> int:
    with shapes_only():
        return sum(each.numel() for each in TransformationNetwork(architecture).parameters())


def _numbers(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())
