"""Version 1: images optimised side by side until their features match a content and a painting.

Gatys et al. 2016, with the choices of `choices.Choices`. An image's course does not depend, but for
rounding, on the images beside it.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from triptych.core.memory import OomRetry
from triptych.style.data.architectures import Architecture
from triptych.style.data.backbone import Backbone
from triptych.style.data.images import resize_to
from triptych.style.optimise.choices import Choices, load
from triptych.style.optimise.objective import Objective
from triptych.style.optimise.row_optimizer import RowOptimizer

DIVERGED_FACTOR = 100.0
DIVERGED_PATIENCE = 20
"""An image has diverged when its total loss was more than DIVERGED_FACTOR times its lowest one
for DIVERGED_PATIENCE evaluations in a row: SGD's swings are shorter or smaller than that."""

ADVICE = "Lower size in the config (style.optimize or the experiment), or set device: cpu."

FINISHED, DIVERGED, NOT_FINITE = "finished", "diverged", "not_finite"
HISTORY = ("image", "evaluation", "content", "style", "total_variation", "total", "seconds")


@dataclass(frozen=True)
class Optimised:
    """N optimised images of one batch with their losses and statuses, in the contents' order."""

    images: Tensor
    """[N, 3, H, W] in [0, 1]; of a stopped one its last good state: that of its lowest loss."""
    history: pd.DataFrame
    """A row an image and evaluation: HISTORY. The weighted terms sum to `total`; `seconds` are
    those since the batch began, over the batch's images."""
    statuses: list[str]
    """"finished", "diverged" or "not_finite"."""
    reasons: list[str]
    """Why an image was stopped, or ""."""
    evaluations_done: list[int]
    seconds: float
    """The batch's, over its images."""


@dataclass
class _Course:
    """State of a batch that is optimised, its optimiser apart."""

    best: Tensor
    """Each image as it was at its lowest loss, [N, n]."""
    results: Tensor
    """[N, n], set when an image ends."""
    lowest: list[float]
    """Lowest loss of each image."""
    high: list[int]
    """Evaluations in a row far above the lowest loss, by image."""
    running: list[int]
    """Images that are still optimised, in the order of the optimiser's rows."""
    statuses: list[str]
    reasons: list[str]
    records: list[list[float]] = field(default_factory=list)
    """Rows of HISTORY."""
    seconds: float = 0.0
    evaluations: int = 0


class Optimisation:
    """One batch on its way; `advance` evaluates every image that still runs, and moves it.

    start: [N, 3, H, W] to begin from instead of `initial_images`; overwritten
    """

    def __init__(
        self,
        contents: Sequence[Tensor],
        paintings: Sequence[Tensor],
        backbone: Backbone,
        choices: Choices,
        evaluations: int,
        start: Tensor | None = None,
    ) -> None:
        self._choices, self._evaluations = choices, evaluations
        self._objective = Objective(backbone, choices, contents, paintings)
        if start is None:
            start = initial_images(contents, paintings, choices)
        count, self._shape = len(start), start.shape[1:]
        rows = start.flatten(1).clone()
        optimizer = load("optimizers", choices.optimizer)
        self._optimizer: RowOptimizer = optimizer.optimizer(rows, choices)
        best = start.flatten(1)
        self._course = _Course(
            best=best,
            results=best.clone(),
            lowest=[math.inf] * count,
            high=[0] * count,
            running=list(range(count)),
            statuses=[FINISHED] * count,
            reasons=[""] * count,
        )
        self._portion = OomRetry(count, "images", ADVICE)

    @property
    def done(self) -> int:
        return self._course.evaluations

    @property
    def finished(self) -> bool:
        return self.done >= self._evaluations or not self._course.running

    @property
    def images(self) -> Tensor:
        """The images as they stand, [N, 3, H, W] in [0, 1]."""
        rows = self._course.results.clone()
        if not self.finished:
            rows[self._course.running] = self._optimizer.rows
        return rows.nan_to_num(0.0, 1.0, 0.0).clamp_(0, 1).view(-1, *self._shape)

    def advance(self) -> None:
        """One evaluation of every image that still runs, and, unless it is the last, one move."""
        began = time.perf_counter()
        course = self._course
        if self._choices.clamp == "closure":
            self._optimizer.rows.clamp_(0, 1)
        rows = self._optimizer.rows
        values, objective, gradients = self._portion.run(
            lambda size: self._objective.evaluated(rows, self._shape, size)
        )
        course.evaluations += 1
        stopped = self._record(values.double().T.tolist(), began)
        last = self.done == self._evaluations
        if not last:
            self._optimizer.step(objective, gradients)
        moving = self._optimizer.active.tolist()
        for row, image in enumerate(course.running):
            if row not in stopped and (last or not moving[row]):
                course.results[image] = rows[row]
                course.reasons[image] = "" if last else f"converged at evaluation {self.done}"
                stopped |= set() if last else {row}
        self._drop(stopped)
        course.seconds += time.perf_counter() - began

    def _record(self, values: list[list[float]], began: float) -> set[int]:
        """Record an evaluation's (terms, total, largest gradient); return the rows to stop."""
        course, stopped = self._course, set()
        seconds = (course.seconds + time.perf_counter() - began) / len(course.lowest)
        for row, image in enumerate(course.running):
            *terms, total, gradient = values[row]
            course.records.append([image, self.done, *terms, total, seconds])
            if not math.isfinite(total + gradient):
                what = "gradient" if math.isfinite(total) else "loss"
                reason = f"its {what} was not finite at evaluation {self.done}"
                self._stop(image, NOT_FINITE, reason)
                stopped.add(row)
                continue
            if total < course.lowest[image]:
                course.lowest[image] = total
                course.best[image] = self._optimizer.rows[row]
            far = total > DIVERGED_FACTOR * course.lowest[image]
            course.high[image] = course.high[image] + 1 if far else 0
            if course.high[image] >= DIVERGED_PATIENCE:
                reason = (
                    f"its loss was more than {DIVERGED_FACTOR:g} times its lowest for "
                    f"{DIVERGED_PATIENCE} evaluations, up to evaluation {self.done}"
                )
                self._stop(image, DIVERGED, reason)
                stopped.add(row)
        return stopped

    def _stop(self, image: int, status: str, reason: str) -> None:
        course = self._course
        course.statuses[image], course.reasons[image] = status, reason
        # An image that never was good may hold NaN where it came from.
        course.results[image] = course.best[image].nan_to_num(0.0, 1.0, 0.0)

    def _drop(self, stopped: set[int]) -> None:
        if not stopped:
            return
        course = self._course
        remaining = [row for row in range(len(course.running)) if row not in stopped]
        course.running = [course.running[row] for row in remaining]
        if remaining:
            self._optimizer.keep(torch.tensor(remaining, device=course.results.device))
            self._objective.keep(remaining)

    def state(self) -> dict[str, Any]:
        """State from which `restore` goes on to the bit; tensors are not copied."""
        return {
            "course": dict(vars(self._course)),
            "portion": self._portion.size,
            "optimizer": self._optimizer.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from the `state` of another object of the same arguments."""
        course = _Course(**state["course"])
        if course.running and len(course.running) < len(self._course.running):
            self._objective.keep(course.running)
        self._course = course
        self._portion.size = state["portion"]
        self._optimizer.restore(state["optimizer"])

    def result(self) -> Optimised:
        """The images, their history, and how each ended."""
        course = self._course
        count = len(course.statuses)
        history = history_of(course.records)
        done = history.groupby("image")["evaluation"].max()
        return Optimised(
            images=course.results.view(count, *self._shape).clamp(0, 1),
            history=history,
            statuses=list(course.statuses),
            reasons=list(course.reasons),
            evaluations_done=[int(done.get(image, 0)) for image in range(count)],
            seconds=course.seconds / count,
        )


def history_of(records: Sequence[Sequence[float]]) -> pd.DataFrame:
    """Rows of HISTORY as a table, an image after the other."""
    history = pd.DataFrame(records, columns=list(HISTORY))
    history = history.astype({"image": int, "evaluation": int})
    return history.sort_values(["image", "evaluation"], ignore_index=True)


def optimise(
    contents: Tensor,
    paintings: Tensor | Sequence[Tensor],
    backbone: Backbone,
    choices: Choices,
    evaluations: int,
) -> Optimised:
    """Optimise contents [N, 3, H, W] in [0, 1] side by side, each towards its painting.

    paintings: N, [3, h, w] of any sizes, or one for all
    backbone: has the choices' pooling, and is normalised if they say so
    """
    paintings = list(paintings) * (len(contents) if len(paintings) == 1 else 1)
    running = Optimisation(list(contents), paintings, backbone, choices, evaluations)
    while not running.finished:
        running.advance()
    return running.result()


def initial_images(
    contents: Sequence[Tensor], paintings: Sequence[Tensor], choices: Choices
) -> Tensor:
    """Where the images start, [N, 3, H, W]: the content, uniform noise, or the painting."""
    if choices.initialisation == "content":
        return torch.stack(list(contents))
    height, width = contents[0].shape[1:]
    if choices.initialisation == "style":
        return torch.stack([resize_to(image, height, width) for image in paintings])
    # Drawn on the CPU, so that the noise, one for all, is the same on every device.
    noise = torch.rand(3, height, width, generator=torch.Generator().manual_seed(0))
    return torch.stack([noise] * len(contents)).to(contents[0])


def images_at_once(
    architecture: Architecture, choices: Choices, height: int, width: int, memory_bytes: float
) -> int:
    """Number of images that fit into the memory while they are optimised; at least one."""
    network = network_bytes(architecture, choices, height, width)
    image = network + state_bytes(choices, height, width)
    return max(1, int(min(memory_bytes / image, 2**20)))


def network_bytes(architecture: Architecture, choices: Choices, height: int, width: int) -> int:
    """Bytes of an image's features.

    Each convolution's and ReLU's output is kept for the backward pass, where the widest layer
    stands a few more times.
    """
    rows, columns = (architecture.lengths(choices.layers, side) for side in (height, width))
    layers = zip(architecture.convolutions.values(), rows, columns, strict=False)
    numbers = [layer.outputs * height * width for layer, height, width in layers]
    return 4 * (2 * sum(numbers) + 4 * max(numbers))


def state_bytes(choices: Choices, height: int, width: int) -> int:
    """Bytes of an image and of what its optimiser keeps of it."""
    module = load("optimizers", choices.optimizer)
    images = module.memory_images(choices) if hasattr(module, "memory_images") else 10
    return 4 * images * 3 * height * width
