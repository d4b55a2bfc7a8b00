"""Seconds an image: Table I of the paper, and Figure 4's loss functions."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import describe_device
from triptych.core.progress import Progress
from triptych.style.data.backbone import Backbone
from triptych.style.data.images import resize
from triptych.style.optimise.choices import NOTEBOOK, Choices
from triptych.style.optimise.gatys import optimise

T = TypeVar("T")


def timed(call: Callable[[], T], device: torch.device) -> tuple[T, float]:
    """Result and seconds of a call, with a GPU's queue emptied before and after."""
    _synchronise(device)
    began = time.perf_counter()
    result = call()
    _synchronise(device)
    return result, time.perf_counter() - began


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


COLUMNS = [
    "version",
    "backbone",
    "size",
    "image",
    "repeat",
    "seconds",
    "batch",
    "device",
    "threads",
    "evaluations",
    "evaluations_done",
    "evaluations_stated",
    "settings",
    "precision",
]


def optimisation_times(
    photographs: Tensor,
    painting: Tensor,
    backbones: Mapping[str, tuple[Backbone, Choices]],
    sizes: Sequence[int],
    *,
    evaluations: int,
    stated: int,
    device: torch.device,
) -> pd.DataFrame:
    """Version 1's half of Table I: seconds an image, as rows of COLUMNS.

    photographs [n, 3, H, W] in [0, 1] are optimised one at a time, squashed to each size, as the
    paper's were. stated: evaluations that the table scales seconds to.
    """
    rows = []
    kinds = list(itertools.product(backbones, sizes))
    with Progress("optimisation", len(kinds) * len(photographs), "images") as progress:
        for name, size in kinds:
            backbone, choices = backbones[name]
            squashed = [resize(image, size, "squashed") for image in photographs]
            contents = torch.stack(squashed).to(device)
            style = resize(painting, size, "squashed")[None].to(device)
            run = partial(_optimise_from_zero, backbone, choices, style)
            run(contents[:1], 2)
            for index in range(len(contents)):
                done, seconds = timed(
                    partial(run, contents[index : index + 1], evaluations), device
                )
                rows.append(
                    {
                        "version": 1,
                        "backbone": name,
                        "size": size,
                        "image": index,
                        "repeat": 0,
                        "seconds": seconds,
                        "batch": 1,
                        "evaluations": evaluations,
                        "evaluations_done": done[0],
                        "evaluations_stated": stated,
                        "settings": NOTEBOOK,
                        "precision": choices.precision,
                    }
                )
                progress.advance()
    return _on_device(rows, device)


def _on_device(rows: list[dict[str, Any]], device: torch.device) -> pd.DataFrame:
    """Rows of COLUMNS with the device that they were timed on."""
    where = {"device": describe_device(device), "threads": torch.get_num_threads()}
    return pd.DataFrame([{**row, **where} for row in rows], columns=COLUMNS)


def _optimise_from_zero(
    backbone: Backbone, choices: Choices, painting: Tensor, contents: Tensor, evaluations: int
) -> list[int]:
    """The evaluations that each image made."""
    return optimise(contents, painting, backbone, choices, evaluations).evaluations_done


def network_times(
    photographs: Tensor,
    stylise: Callable[[Tensor], object],
    sizes: Sequence[int],
    repeats: int,
    *,
    precision: str,
    device: torch.device,
) -> pd.DataFrame:
    """Version 2's half of Table I: seconds an image, one at a time, after a warm-up at each size.

    `stylise` takes images [1, 3, H, W] in [0, 1] that already lie on `device`.
    """
    rows = []
    for size in sizes:
        squashed = [resize(image, size, "squashed") for image in photographs]
        images = torch.stack(squashed).to(device)
        stylise(images[:1])
        for repeat, index in itertools.product(range(repeats), range(len(images))):
            _, seconds = timed(partial(stylise, images[index : index + 1]), device)
            rows.append(
                {
                    "version": 2,
                    "backbone": "network",
                    "size": size,
                    "image": index,
                    "repeat": repeat,
                    "seconds": seconds,
                    "batch": 1,
                    "evaluations": 0,
                    "evaluations_done": 0,
                    "evaluations_stated": 0,
                    "settings": "",
                    "precision": precision,
                }
            )
    return _on_device(rows, device)


def loss_times(
    content: Tensor,
    painting: Tensor,
    backbone: Backbone,
    choices: Sequence[Choices],
    *,
    evaluations: int,
    repeats: int,
    device: torch.device,
) -> pd.DataFrame:
    """Figure 4: seconds by content loss, all within each repeat, in an order that rotates.

    content, painting: [1, 3, H, W]. choices: one for each content loss. One run beforehand warms
    up.
    """
    rows = []
    _optimise_from_zero(backbone, choices[0], painting, content, 2)
    with Progress("loss functions", repeats * len(choices), "runs") as progress:
        for repeat in range(repeats):
            turn = repeat % len(choices)
            for chosen in [*choices[turn:], *choices[:turn]]:
                run = partial(_optimise_from_zero, backbone, chosen, painting, content, evaluations)
                _, seconds = timed(run, device)
                rows.append(
                    {
                        "content_loss": chosen.content_loss,
                        "repeat": repeat,
                        "seconds": seconds,
                        "evaluations": evaluations,
                        "size": content.shape[-1],
                        "device": describe_device(device),
                    }
                )
                progress.advance()
    return pd.DataFrame(rows)
