"""Version 1: images optimised side by side until their features match a content and a painting.

Gatys et al. 2016, with the choices of `presets.Choices`. An image's course does not depend, but for
rounding, on the images beside it.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from triptych.core.memory import OomRetry
from triptych.style.data.backbone import Backbone
from triptych.style.data.images import resize_to
from triptych.style.optimise.lbfgs import ROW_OPTIMIZERS
from triptych.style.optimise.objective import Objective
from triptych.style.optimise.presets import Choices
from triptych.style.optimise.styles import Style

DIVERGED_FACTOR = 100.0
DIVERGED_PATIENCE = 20
"""An image has diverged when its total loss was more than DIVERGED_FACTOR times its lowest one
for DIVERGED_PATIENCE evaluations in a row: SGD's swings are shorter or smaller than that."""

ADVICE = "Lower size in the config (style.optimize or the experiment), or set device: cpu."

FINISHED, DIVERGED, NOT_FINITE = "finished", "diverged", "not_finite"
HISTORY = ("image", "evaluation", "content", "style", "total_variation", "total", "seconds")


@dataclass(frozen=True)
class Optimised:
    """N images of one batch and how each came about, all in the contents' order."""

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


class Optimisation:
    """One batch on its way; `advance` evaluates every image that still goes, and moves it.

    start: [N, 3, H, W] to begin from instead of `initial_images`; overwritten
    """

    def __init__(
        self,
        contents: Sequence[Tensor],
        styles: Sequence[Style],
        backbone: Backbone,
        choices: Choices,
        evaluations: int,
        start: Tensor | None = None,
        side: int | None = None,
    ) -> None:
        self._choices, self._evaluations = choices, evaluations
        self._objective = Objective(backbone, choices, contents, styles, side)
        if start is None:
            start = initial_images(contents, styles, choices)
        count, self._shape = len(start), start.shape[1:]
        rows = start.flatten(1).clone()
        self._optimizer = ROW_OPTIMIZERS[choices.optimizer](rows, choices)
        self._best = start.flatten(1)
        self._results = self._best.clone()
        self._lowest = [math.inf] * count
        self._high = [0] * count  # evaluations in a row far above the lowest loss
        self._going = list(range(count))
        self._statuses, self._reasons = [FINISHED] * count, [""] * count
        self._records: list[list[float]] = []
        self._seconds = 0.0
        self._portion = OomRetry(count, "images", ADVICE)
        self.done = 0
        """Evaluations so far."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.done >= self._evaluations or not self._going

    @property
    def images(self) -> Tensor:
        """The images as they stand, [N, 3, H, W] in [0, 1]."""
        rows = self._results.clone()
        if not self.finished:
            rows[self._going] = self._optimizer.rows
        return rows.nan_to_num(0.0, 1.0, 0.0).clamp_(0, 1).view(-1, *self._shape)

    def advance(self) -> None:
        """One evaluation of every image that still goes, and, unless it is the last, one move."""
        began = time.perf_counter()
        if self._choices.clamp == "closure":
            self._optimizer.rows.clamp_(0, 1)
        rows = self._optimizer.rows
        values, objective, gradients = self._portion.run(
            lambda size: self._objective.evaluated(rows, self._shape, size)
        )
        self.done += 1
        stopped = self._note(values.double().T.tolist(), began)
        last = self.done == self._evaluations
        if not last:
            self._optimizer.step(objective, gradients)
        moving = self._optimizer.active.tolist()
        for row, image in enumerate(self._going):
            if row not in stopped and (last or not moving[row]):
                self._results[image] = rows[row]
                self._reasons[image] = "" if last else f"converged at evaluation {self.done}"
                stopped |= set() if last else {row}
        self._drop(stopped)
        self._seconds += time.perf_counter() - began

    def _note(self, values: list[list[float]], began: float) -> set[int]:
        """Record an evaluation's (terms, total, largest gradient); the rows that have to stop."""
        stopped = set()
        seconds = (self._seconds + time.perf_counter() - began) / len(self._lowest)
        each = zip(self._going, values, strict=True)
        for row, (image, (*terms, total, gradient)) in enumerate(each):
            self._records.append([image, self.done, *terms, total, seconds])
            if not math.isfinite(total + gradient):
                what = "gradient" if math.isfinite(total) else "loss"
                reason = f"its {what} was not finite at evaluation {self.done}"
                self._stop(image, NOT_FINITE, reason)
                stopped.add(row)
                continue
            if total < self._lowest[image]:
                self._lowest[image] = total
                self._best[image] = self._optimizer.rows[row]
            far = total > DIVERGED_FACTOR * self._lowest[image]
            self._high[image] = self._high[image] + 1 if far else 0
            if self._high[image] >= DIVERGED_PATIENCE:
                reason = (
                    f"its loss was more than {DIVERGED_FACTOR:g} times its lowest for "
                    f"{DIVERGED_PATIENCE} evaluations, up to evaluation {self.done}"
                )
                self._stop(image, DIVERGED, reason)
                stopped.add(row)
        return stopped

    def _stop(self, image: int, status: str, reason: str) -> None:
        self._statuses[image], self._reasons[image] = status, reason
        # An image that never was good may hold NaN where it came from.
        self._results[image] = self._best[image].nan_to_num(0.0, 1.0, 0.0)

    def _drop(self, stopped: set[int]) -> None:
        if stopped:
            kept = [row for row in range(len(self._going)) if row not in stopped]
            self._going = [self._going[row] for row in kept]
            if kept:
                self._optimizer.keep(torch.tensor(kept, device=self._results.device))
                self._objective.keep(kept)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs to go on to the bit; tensors are not copied."""
        own = {name: getattr(self, name) for name in _STATE}
        return {**own, "portion": self._portion.size, "optimizer": self._optimizer.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what another object of the same arguments gave as `state`."""
        going = state["_going"]
        if going and len(going) < len(self._going):
            self._objective.keep(going)
        for name in _STATE:
            setattr(self, name, state[name])
        self._portion.size = state["portion"]
        self._optimizer.restore(state["optimizer"])

    def result(self) -> Optimised:
        """What became of the images."""
        count = len(self._statuses)
        history = pd.DataFrame(self._records, columns=list(HISTORY))
        history = history.astype({"image": int, "evaluation": int})
        history = history.sort_values(["image", "evaluation"], ignore_index=True)
        done = history.groupby("image")["evaluation"].max()
        return Optimised(
            images=self._results.view(count, *self._shape).clamp(0, 1),
            history=history,
            statuses=list(self._statuses),
            reasons=list(self._reasons),
            evaluations_done=[int(done.get(image, 0)) for image in range(count)],
            seconds=self._seconds / count,
        )


_STATE = (
    *("done", "_best", "_results", "_lowest", "_high", "_going"),
    *("_statuses", "_reasons", "_records", "_seconds"),
)


def optimise(
    contents: Tensor,
    styles: Tensor | Sequence[Style],
    backbone: Backbone,
    choices: Choices,
    evaluations: int,
) -> Optimised:
    """Optimise contents [N, 3, H, W] in [0, 1] side by side, each towards its style.

    `styles` are N, of paintings [3, h, w] of any sizes, or one for all. `backbone` has
    the choices' pooling, and is normalised if they say so.
    """
    styles = list(styles) * (len(contents) if len(styles) == 1 else 1)
    running = Optimisation(list(contents), styles, backbone, choices, evaluations)
    while not running.finished:
        running.advance()
    return running.result()


def initial_images(contents: Sequence[Tensor], styles: Sequence[Style], choices: Choices) -> Tensor:
    """Where the images start, [N, 3, H, W]: the content, uniform noise, or the first painting."""
    if choices.initialisation == "content":
        return torch.stack(list(contents))
    height, width = contents[0].shape[1:]
    if choices.initialisation == "style":
        first = [each if isinstance(each, Tensor) else each[0].image for each in styles]
        return torch.stack([resize_to(image, height, width) for image in first])
    # Drawn on the CPU, so that the noise, one for all, is the same on every device.
    noise = torch.rand(3, height, width, generator=torch.Generator().manual_seed(0))
    return torch.stack([noise] * len(contents)).to(contents[0])
