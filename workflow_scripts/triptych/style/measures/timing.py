"""Seconds an image: Table I of the paper, and Figure 4's loss functions."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import describe_device
from triptych.core.progress import Progress
from triptych.style.data.backbone import Backbone
from triptych.style.data.images import resize
from triptych.style.optimise.gatys import optimise
from triptych.style.optimise.presets import CONTENT_LOSSES, Choices, ContentLoss

T = TypeVar("T")


def timed(call: Callable[[], T], device: torch.device) -> tuple[T, float]:
    """What `call` returns and the seconds that it takes, a GPU's queue emptied before and after."""
    _synchronise(device)
    began = time.perf_counter()
    found = call()
    _synchronise(device)
    return found, time.perf_counter() - began


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def optimisation_times(
    photographs: Tensor,
    painting: Tensor,
    backbones: Mapping[str, tuple[Backbone, Choices]],
    sizes: Sequence[int],
    evaluations: int,
    stated: int,
    batch: int,
    settings: str,
    device: torch.device,
) -> pd.DataFrame:
    """Version 1's half of Table I: seconds an image for `evaluations` evaluations.

    photographs [n, 3, H, W] in [0, 1] are optimised `batch` at a time, squashed to each size, as
    the paper's were; a batch's seconds are shared evenly among its images. `stated` evaluations are
    what the table scales to; `settings` is only noted. Columns as in timing/images.csv.
    """
    rows = []
    kinds = list(itertools.product(backbones, sizes))
    with Progress("optimisation", len(kinds) * len(photographs), "images") as progress:
        for name, size in kinds:
            backbone, choices = backbones[name]
            contents = torch.stack([resize(each, size, "squashed") for each in photographs])
            style = resize(painting, size, "squashed")[None].to(device)
            run = partial(_optimise_from_zero, backbone, choices, style)
            run(contents[:batch].to(device), 2)
            for first in range(0, len(contents), batch):
                chosen = contents[first : first + batch].to(device)
                done, seconds = timed(partial(run, chosen, evaluations), device)
                for i in range(len(chosen)):
                    row = (1, name, size, first + i, 0, seconds / len(chosen), len(chosen))
                    counts = (evaluations, done[i], stated)
                    rows.append((*row, *_where(device), *counts, settings, choices.precision))
                progress.advance(len(chosen))
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = [
    *("version", "backbone", "size", "image", "repeat", "seconds", "batch", "device", "threads"),
    *("evaluations", "evaluations_done", "evaluations_stated", "settings", "precision"),
]


def _where(device: torch.device) -> tuple[str, int]:
    return describe_device(device), torch.get_num_threads()


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
    precision: str,
    device: torch.device,
) -> pd.DataFrame:
    """Version 2's half of Table I: seconds an image, one at a time, after a warm-up at each size.

    `stylise` takes images [1, 3, H, W] in [0, 1] that already lie on `device`.
    """
    rows = []
    for size in sizes:
        images = torch.stack([resize(each, size, "squashed") for each in photographs]).to(device)
        stylise(images[:1])
        for repeat, index in itertools.product(range(repeats), range(len(images))):
            _, seconds = timed(partial(stylise, images[index : index + 1]), device)
            row = (2, "network", size, index, repeat, seconds, 1)
            rows.append((*row, *_where(device), 0, 0, 0, "", precision))
    return pd.DataFrame(rows, columns=COLUMNS)


def loss_times(
    content: Tensor,
    painting: Tensor,
    backbone: Backbone,
    choices: Choices,
    evaluations: int,
    repeats: int,
    device: torch.device,
) -> pd.DataFrame:
    """Figure 4: seconds by content loss, all four within each repeat, in an order that rotates.

    content, painting: [1, 3, H, W]. One run beforehand warms up.
    """

    def run(content_loss: ContentLoss, count: int) -> None:
        chosen = replace(choices, content_loss=content_loss)
        _optimise_from_zero(backbone, chosen, painting, content, count)

    rows = []
    run(CONTENT_LOSSES[0], 2)
    with Progress("loss functions", repeats * len(CONTENT_LOSSES), "runs") as progress:
        for repeat in range(repeats):
            turn = repeat % len(CONTENT_LOSSES)
            for name in CONTENT_LOSSES[turn:] + CONTENT_LOSSES[:turn]:
                _, seconds = timed(partial(run, name, evaluations), device)
                told = (evaluations, content.shape[-1], describe_device(device))
                rows.append((name, repeat, seconds, *told))
                progress.advance()
    columns = ["content_loss", "repeat", "seconds", "evaluations", "size", "device"]
    return pd.DataFrame(rows, columns=columns)
