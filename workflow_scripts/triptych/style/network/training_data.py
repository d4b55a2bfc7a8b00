"""Training data of a transformation network by batch, and the learning rate."""

import functools
import itertools
import math
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.style.data.shards import Shards

CPU = torch.device("cpu")

WARM_UP = 0.25
"""Share of a one-cycle schedule in which the learning rate rises."""


@dataclass(frozen=True)
class TrainingSettings:
    """Length, intervals and rates; sizes in pixels, lengths in batches.

    `schedule`: "constant" is the paper's; "one_cycle" rises to `learning_rate` in the first quarter
    and falls to nothing, both along a cosine. In the first `warm_up` batches the network learns, at
    `learning_rate`, to copy photographs in the paintings' colours: what begins from chance paints
    patterns over them otherwise. `gradient_norm`: a longer gradient of all weights is shortened to
    this; 0 for any length.
    """

    batches: int
    batch: int
    size: int
    learning_rate: float
    schedule: Literal["constant", "one_cycle"]
    flips: bool
    checkpoint_every: int
    log_every: int
    precision: str
    seed: int
    gradient_norm: float = 0.0
    warm_up: int = 0


def prefetched(crops: Shards, settings: TrainingSettings, first: int) -> Generator[Tensor]:
    """Batches from number `first` on; the next one is decoded while the network computes."""
    with ThreadPoolExecutor(1) as pool:
        decoded = pool.submit(load_batch, crops, settings, first)
        for number in itertools.count(first + 1):
            images = decoded.result()
            decoded = pool.submit(load_batch, crops, settings, number)
            yield images


def load_batch(crops: Shards, settings: TrainingSettings, number: int) -> Tensor:
    """Batch number `number` (from 0), uint8 [batch, 3, size, size]: cut, flipped at random."""
    chosen = batch_indices(len(crops.training), settings.batch, settings.seed, number)
    images = crops.batch(crops.training[index] for index in chosen)
    generator = keyed_generator(CPU, "crops", settings.seed, number)
    room = torch.tensor([side - settings.size for side in images.shape[-2:]])
    if (room < 0).any():
        size = f"{images.shape[-1]}x{images.shape[-2]}"
        raise InputError(f"crops of {size} pixels are smaller than the {settings.size} to train on")
    offsets = (torch.rand(len(images), 2, generator=generator) * (room + 1)).long()
    flipped = (torch.rand(len(images), generator=generator) < 0.5) & settings.flips
    cut = [
        image[:, top : top + settings.size, left : left + settings.size]
        for image, (top, left) in zip(images, offsets.tolist(), strict=True)
    ]
    return torch.stack(
        [image.flip(-1) if flip else image for image, flip in zip(cut, flipped, strict=True)]
    )


def batch_styles(styles: int, settings: TrainingSettings, number: int) -> Tensor | None:
    """The style that each image of a batch is drawn for, [batch]; None where there is one."""
    if styles == 1:
        return None
    generator = keyed_generator(CPU, "styles", settings.seed, number)
    return torch.randint(styles, (settings.batch,), generator=generator)


def batch_indices(count: int, batch: int, seed: int, number: int) -> list[int]:
    """Which of `count` crops make batch `number`; each once an epoch, the incomplete batch none."""
    epoch, position = divmod(number, count // batch)
    return _order(count, seed, epoch)[position * batch : (position + 1) * batch].tolist()


@functools.lru_cache(maxsize=2)
def _order(count: int, seed: int, epoch: int) -> Tensor:
    return torch.randperm(count, generator=keyed_generator(CPU, "order", seed, epoch))


def learning_rate(number: int, settings: TrainingSettings) -> float:
    """Adam's rate for batch `number` (from 0)."""
    if settings.schedule == "constant" or number < settings.warm_up:
        return settings.learning_rate
    share = (number + 1) / settings.batches
    if share < WARM_UP:
        height = (1 - math.cos(math.pi * share / WARM_UP)) / 2
    else:
        height = (1 + math.cos(math.pi * (share - WARM_UP) / (1 - WARM_UP))) / 2
    return settings.learning_rate * max(height, 1e-3)
