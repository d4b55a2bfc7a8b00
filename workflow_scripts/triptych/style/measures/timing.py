"""Seconds an image: Table I of the paper, and Figure 4's loss functions."""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import describe_device
from triptych.core.progress import Progress
from triptych.style.data.backbone import Backbone
from triptych.style.data.images import resize
from triptych.style.network.stylize import timed
from triptych.style.optimise.choices import Choices
from triptych.style.optimise.gatys import optimise


def table1_times(times: pd.DataFrame, device: torch.device, **columns: Any) -> pd.DataFrame:
    """Times of one kind with all columns of Table I: `columns` are the same in each row, and what
    neither has is that of Version 2, one image at a time. `evaluations_stated` is what the table
    scales seconds to."""
    given: dict[str, Any] = {
        "backbone": "network",
        "repeat": 0,
        "batch": 1,
        "device": describe_device(device),
        "threads": torch.get_num_threads(),
        "evaluations": 0,
        "evaluations_done": 0,
        "evaluations_stated": 0,
        "settings": "",
        **columns,
    }
    return times.assign(**{name: given[name] for name in given if name not in times})


def optimisation_times(
    photographs: Tensor,
    painting: Tensor,
    backbone: Backbone,
    choices: Choices,
    *,
    sizes: Sequence[int],
    evaluations: int,
    device: torch.device,
) -> pd.DataFrame:
    """Version 1's half of Table I: size, image, seconds, evaluations_done; a row an image.

    photographs [n, 3, H, W] in [0, 1] are optimised one at a time, squashed to each size, as the
    paper's were.
    """
    rows = []
    with Progress("optimisation", len(sizes) * len(photographs), "images") as progress:
        for size in sizes:
            squashed = [resize(image, size, "squashed") for image in photographs]
            contents = torch.stack(squashed).to(device)
            style = resize(painting, size, "squashed")[None].to(device)
            optimise(contents[:1], style, backbone, choices, 2)
            for index in range(len(contents)):
                content = contents[index : index + 1]
                run = partial(optimise, content, style, backbone, choices, evaluations)
                ended, seconds = timed(run, device)
                rows.append((size, index, seconds, ended.evaluations_done[0]))
                progress.advance()
    return pd.DataFrame(rows, columns=["size", "image", "seconds", "evaluations_done"])


def network_times(
    photographs: Tensor,
    stylise: Callable[[Tensor], object],
    *,
    sizes: Sequence[int],
    repeats: int,
    device: torch.device,
) -> pd.DataFrame:
    """Version 2's half of Table I: size, image, repeat, seconds; one image at a time, after a
    warm-up at each size.

    `stylise` takes images [1, 3, H, W] in [0, 1] that already lie on `device`.
    """
    rows = []
    for size in sizes:
        squashed = [resize(image, size, "squashed") for image in photographs]
        images = torch.stack(squashed).to(device)
        stylise(images[:1])
        for repeat, index in itertools.product(range(repeats), range(len(images))):
            _, seconds = timed(partial(stylise, images[index : index + 1]), device)
            rows.append((size, index, repeat, seconds))
    return pd.DataFrame(rows, columns=["size", "image", "repeat", "seconds"])


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
    optimise(content, painting, backbone, choices[0], 2)
    with Progress("loss functions", repeats * len(choices), "runs") as progress:
        for repeat in range(repeats):
            turn = repeat % len(choices)
            for chosen in [*choices[turn:], *choices[:turn]]:
                run = partial(optimise, content, painting, backbone, chosen, evaluations)
                rows.append((chosen.content_loss, repeat, timed(run, device)[1]))
                progress.advance()
    times = pd.DataFrame(rows, columns=["content_loss", "repeat", "seconds"])
    where = describe_device(device)
    return times.assign(evaluations=evaluations, size=content.shape[-1], device=where)
