"""What the jobs of the style study cost, by their config."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from triptych.core.cost import (
    FLOAT,
    GB,
    Cost,
    Work,
    by_precision,
    download,
    kept,
    precision_on_gpus,
)
from triptych.style.backbones.architectures import ARCHITECTURES
from triptych.style.optimisation.experiments import choices_of, experiment_records, experiment_runs
from triptych.style.optimisation.memory import bytes_an_image
from triptych.style.optimisation.presets import (
    CONTENT_LOSSES,
    NOTEBOOK,
    OURS,
    preset,
    timed_choices,
)
from triptych.style.work import (
    Read,
    backbone_work,
    closure_work,
    forward_work,
    network_parameters,
    training_work,
)

COCO_PHOTOGRAPHS = 118_287
PREPARE_SECONDS = 0.005
"""Of one core to decode, cut and store a photograph of COCO: measured, 3.4 ms of it decoding."""
CROP_BYTES = 26e3
"""Of a stored crop of 256 pixels: measured; others by their pixels."""
FRAME_SECONDS = 0.02
"""Of one core to read, convert and store a frame of a megapixel: assumed."""
PHOTOGRAPH = (427, 640)
"""Height and width of most bundled photographs."""
WEIGHTS_BYTES = {"vgg16": 553e6, "vgg19": 575e6, "alexnet": 244e6}
PICTURE_BYTES = {"city": 40e6}
"""Of a download whose size nobody publishes, where it isn't a painting's 2 MB: assumed."""
PLANES = 5
"""Of a network's first layer, that a photograph takes on its way through it: about."""
MEASURE_SECONDS = 4.0
"""Of one core to measure the quality of a megapixel: assumed."""
PIXEL_MEASURED = 200
"""Bytes of a pixel whose quality is measured: about."""
EXPORT_SECONDS = 20.0
"""Of one core to write a network as ONNX and compare: assumed."""
BENCH_SECONDS = 1500.0
"""Of the bench: about."""
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


class _Jobs:
    """A method for each rule that costs something."""

    def __init__(
        self,
        config: Mapping[str, Any],
        sources: Mapping[str, Any],
        wildcards: Mapping[str, str],
    ) -> None:
        self._config, self._sources, self._wildcards = config, sources, wildcards
        self._network = config["network"]
        self._schedule = config["training"]["schedule"]
        self._training = precision_on_gpus(self._schedule["precision"], "training")
        self._inference = precision_on_gpus(config["stylised"]["precision"], "inference")

    def style_download_coco(self) -> Cost:
        return download(self._sources["coco"]["files"]["train2017"]["size"], 19.3 * GB)

    def style_download_weights(self) -> Cost:
        name = self._wildcards["architecture"]
        cost = download(self._sources["backbones"]["files"][name]["size"], WEIGHTS_BYTES[name])
        kept = sum(math.prod(shape) for shape in ARCHITECTURES[name].shapes().values())
        return replace(cost, disk=FLOAT * kept, memory=2 * WEIGHTS_BYTES[name])

    def style_download_picture(self) -> Cost:
        picture = self._wildcards["picture"]
        return download(
            self._sources["wikimedia"]["files"][picture]["size"], PICTURE_BYTES.get(picture, 2e6)
        )

    def style_prepare_coco(self) -> Cost:
        return Cost(
            cpu_seconds=COCO_PHOTOGRAPHS * PREPARE_SECONDS,
            cores=8,
            memory=GB,
            disk=COCO_PHOTOGRAPHS * self._crop_bytes(),
        )

    def style_prepare_photographs(self) -> Cost:
        photographs = self._config["photographs"]
        return Cost(
            cpu_seconds=photographs["crops"] * PREPARE_SECONDS,
            disk=photographs["crops"] * self._crop_bytes(),
        )

    def style_train_backbone(self) -> Cost:
        name = self._wildcards["architecture"]
        settings = self._config["backbone_training"][name]
        deepest = Read(ARCHITECTURES[name].layer_names[-1:], ())
        # Two views of each image, and gradients of weights as well.
        step = backbone_work(name, deepest, "max", 2 * settings["batch"], settings["view"]) * 1.5
        precision = precision_on_gpus(settings["precision"], "training")
        return Cost(work={precision: step * settings["steps"]}, tensors=kept(step))

    def style_optimize(self) -> Cost:
        own = experiment_records(self._runs(), self._wildcards["experiment"])
        groups = Counter(
            (each["architecture"], choices_of(each), each["size"], each["evaluations"])
            for each in own
        )
        parts = [
            (
                precision_on_gpus(choices.precision, "unscaled"),
                closure_work(name, choices, size).together(count) * evaluations,
            )
            for (name, choices, size, evaluations), count in groups.items()
        ]
        largest = max(
            bytes_an_image(ARCHITECTURES[name], choices, size, size)
            for name, choices, size, _ in groups
        )
        return Cost(
            work=by_precision(*parts),
            step=CLOSURE,
            disk=sum(2 * record["size"] ** 2 for record in own),
            tensors=2 * largest,
        )

    def style_teach(self) -> Cost:
        lessons, size = self._config["lessons"], self._config["photographs"]["size"]
        name = self._config["backbones"]["loss"]["architecture"]
        precision = precision_on_gpus(lessons["precision"], "unscaled")
        choices = preset("tuned", name, precision=precision)
        count, batch = lessons["pictures"] + lessons["held_out"], lessons["batch"]
        sides = [size >> halvings for halvings in range(len(lessons["scales"]))]
        work = sum((closure_work(name, choices, side).together(batch) for side in sides), Work())
        largest = bytes_an_image(ARCHITECTURES[name], choices, size, size)
        return Cost(
            work={precision: work * (lessons["evaluations"] * -(-count // batch))},
            step=CLOSURE,
            disk=count * self._crop_bytes(),
            tensors=2 * batch * largest,
        )

    def style_train(self) -> Cost:
        schedule = self._schedule
        saved = -(-schedule["batches"] // schedule["checkpoint_every"])
        weights = FLOAT * network_parameters(self._network)
        step = self._step(schedule["batch"])
        return Cost(
            work={self._training: step * schedule["batches"]},
            step=TRAINING,
            disk=saved * weights,
            scratch=(saved + 3) * weights,
            tensors=kept(step),
        )

    def style_select(self) -> Cost:
        # A step forward only: a third of one with its gradient.
        saved = -(-self._schedule["batches"] // self._schedule["checkpoint_every"])
        batches = -(-self._config["photographs"]["held_out"] // self._schedule["batch"])
        step = self._step(self._schedule["batch"]) * (1 / 3)
        return Cost(
            work={self._training: step * (saved * batches)},
            step=TRAINING,
            tensors=kept(step),
            disk=FLOAT * network_parameters(self._network),
        )

    def style_stylize(self) -> Cost:
        sizes = self._sizes()
        work = sum((forward_work(self._network, *size) for size in sizes), Work())
        pixels = sum(height * width for height, width in sizes)
        largest = max(height * width for height, width in sizes)
        return Cost(
            work={self._inference: work},
            step=FORWARD,
            disk=2 * pixels,
            tensors=self._planes(largest),
        )

    def style_export(self) -> Cost:
        return Cost(cpu_seconds=EXPORT_SECONDS, memory=GB / 2)

    def style_quality(self) -> Cost:
        images = [size**2 for size in self._runs()["size"]]
        networks = self._config["networks"]
        files = [*networks["shipped"], *networks["trained"]]
        shown = {style for name in files for style in networks["conditional"].get(name, [name])}
        images += len(shown) * [height * width for height, width in self._sizes()]
        return Cost(
            cpu_seconds=sum(images) * MEASURE_SECONDS / 1e6, memory=PIXEL_MEASURED * max(images)
        )

    def style_film(self) -> Cost:
        return Cost(cpu_seconds=self._film_seconds())

    def style_encode(self) -> Cost:
        return Cost(cpu_seconds=3 * self._film_seconds())

    def style_video(self) -> Cost:
        video, film = self._config["video"], self._config["video"]["film"]
        frame = forward_work(self._network, film["height"], film["width"])
        timed = 2 * video["speed"]["repeats"] * video["speed"]["frames"]
        pixels = film["height"] * film["width"]
        return Cost(
            work={self._inference: frame * (film["frames"] + timed)},
            step=FORWARD,
            cpu_seconds=self._film_seconds(),
            disk=film["frames"] * pixels * 2,
            tensors=self._planes(video["batch"] * pixels),
        )

    def style_time(self) -> Cost:
        timing, backbones = self._config["timing"], self._config["backbones"]
        first = second = Work()
        largest = 0.0
        settings = (
            (NOTEBOOK, timing["notebook"], 1),
            (OURS, timing["photographs"], timing["batch"]),
        )
        cases = itertools.product(settings, ("alexnet", "vgg"), timing["sizes"])
        for (kind, photographs, batch), role, size in cases:
            name = backbones[role]["architecture"]
            choices = timed_choices(kind, name)
            each = closure_work(name, choices, size).together(batch)
            held = batch * bytes_an_image(ARCHITECTURES[name], choices, size, size)
            largest = max(largest, held)
            first += each * (-(-photographs // batch) * timing["evaluations"])
        losses = timing["losses"]
        name = backbones["vgg"]["architecture"]
        for kind in CONTENT_LOSSES:
            choices = replace(timed_choices(OURS, name), content_loss=kind)
            each = closure_work(name, choices, losses["size"])
            first += each * (losses["evaluations"] * losses["repeats"])
        for size in timing["sizes"]:
            forward = forward_work(self._network, size, size)
            second += forward * (timing["repeats"] * timing["photographs"])
        return Cost(
            work=by_precision(("float32", first), (self._inference, second)),
            step=CLOSURE,
            tensors=largest,
        )

    def style_bench(self) -> Cost:
        return Cost(cpu_seconds=BENCH_SECONDS, memory=8 * GB)

    def _step(self, batch: int) -> Work:
        losses = self._config["losses"]
        if self._wildcards["variant"] != "temporal":
            losses = {**losses, "temporal_weight": 0.0}
        return training_work(
            self._network,
            losses,
            self._config["backbones"]["loss"]["architecture"],
            self._config["training"]["pooling"],
            batch,
            self._schedule["size"],
            self._training,
        )

    def _crop_bytes(self) -> float:
        return CROP_BYTES * (self._config["photographs"]["size"] / 256) ** 2

    def _runs(self) -> pd.DataFrame:
        config = self._config
        return experiment_runs(config["optimize"], config["experiments"], config["backbones"])

    def _sizes(self) -> list[Sequence[int]]:
        """Height and width of each photograph that is stylised."""
        shown = self._config["stylised"]
        names = dict.fromkeys([*shown["contents"], shown["large"]])
        return [self._config["contents"][name].get("size") or PHOTOGRAPH for name in names]

    def _planes(self, pixels: float) -> float:
        return PLANES * self._network["width"] * FLOAT * pixels

    def _film_seconds(self) -> float:
        film = self._config["video"]["film"]
        return float(film["frames"] * film["height"] * film["width"] * FRAME_SECONDS / 1e6)
