"""Coarse to fine: a batch of images optimised at growing sizes, each begun from the one before.

What is painted small and enlarged has larger strokes (Gatys et al. 2017). It is enlarged with the
detail that the photograph has beyond it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from triptych.core.memory import return_freed_memory
from triptych.style.data.backbone import Backbone
from triptych.style.data.colours import in_colours_of, with_moments_of
from triptych.style.data.image_files import shape_along
from triptych.style.data.images import enlarged, resize, resize_to
from triptych.style.optimise.choices import Choices, methods
from triptych.style.optimise.gatys import HISTORY, Optimisation, Optimised, history_of


@dataclass(frozen=True)
class Scale:
    """A scale: its sides over the full size's, and the evaluations of each image."""

    size: float
    evaluations: int

    def shape(self, height: int, width: int) -> tuple[int, int]:
        return shape_along(height, width, max(1, round(self.size * min(height, width))))


def scales(evaluations: Sequence[int]) -> list[Scale]:
    """A scale for each number of evaluations, coarse to fine, each half the next one's size."""
    last = len(evaluations) - 1
    return [Scale(0.5 ** (last - number), count) for number, count in enumerate(evaluations)]


def equal_scales(count: int, evaluations: int) -> list[Scale]:
    """So many scales, among which the evaluations are divided; what is left goes to the coarser."""
    share, left = divmod(evaluations, count)
    return scales([share + (number < left) for number in range(count)])


REFINING_PAIRS = 2
"""Pairs that L-BFGS remembers at the finest scale: four or ten end little lower, and each takes as
much memory as two images."""


def refining(choices: Choices) -> Choices:
    """The choices of a finest scale that goes on from a coarser scale's image: L-BFGS.

    It reaches Adam's loss in half the evaluations (docs/style-presets.md). Beginning from a
    photograph it would lose what that shows, so coarser scales keep their optimiser.
    """
    rates = {**methods("optimizers")["lbfgs"]["TUNED"], "history": REFINING_PAIRS}
    return replace(choices, optimizer="lbfgs", clamp="end", **rates)


MARGIN = 12
"""Pixels beyond each edge that are optimised and cut off."""


def with_margin(images: Tensor) -> Tensor:
    """Images [N, 3, H, W] reflected beyond their edges, which the network's zeros would darken."""
    margin = min(MARGIN, min(images.shape[2:]) - 1)
    return functional.pad(images, (margin,) * 4, mode="reflect")


def without_margin(images: Tensor, height: int, width: int) -> Tensor:
    """The middle of images, [N, 3, height, width]."""
    top, left = (images.shape[2] - height) // 2, (images.shape[3] - width) // 2
    return images[..., top : top + height, left : left + width]


def in_colours(images: Tensor, paintings: Sequence[Tensor]) -> Tensor:
    """Each image [N, 3, H, W] in its painting's colours, to begin from: else dark parts would keep
    the photograph's."""
    return torch.stack([in_colours_of(*pair) for pair in zip(images, paintings, strict=True)])


def with_moments(images: Tensor, paintings: Sequence[Tensor]) -> Tensor:
    """Each image [N, 3, H, W] with the mean and covariance of its painting's colours."""
    return torch.stack([with_moments_of(*pair) for pair in zip(images, paintings, strict=True)])


class CoarseToFine:
    """A batch on its way through the scales, for `core.training_loop`. An image that diverges goes
    on at the next scale from its last good state.

    images: [N, 3, H, W] in [0, 1], at the full size: the content
    begun:  what the first scale begins from and the others take detail from, of the same shape
    paintings: [3, h, w], one for all or one for each image, at least as large as they are shown
    stroke: its size against the images', along their shorter sides
    finest: choices of the last scale where there are coarser ones (default: `choices`)
    """

    def __init__(
        self,
        images: Tensor,
        begun: Tensor,
        paintings: Sequence[Tensor],
        backbone: Backbone,
        choices: Choices,
        through: Sequence[Scale],
        *,
        stroke: float,
        finest: Choices | None = None,
    ) -> None:
        self._originals, self._detailed = images, begun
        self._paintings = list(paintings) * (len(images) if len(paintings) == 1 else 1)
        self._backbone, self._choices, self.scales = backbone, choices, list(through)
        self._stroke = stroke
        self._finest = choices if finest is None else finest
        self._number = 0  # of the scale that goes
        self._going: Optimisation | None = None
        self._finished: Tensor | None = None
        self._records: list[list[float]] = []  # rows of HISTORY of the scales that have ended
        self._seconds = 0.0  # an image's, of the scales that have ended
        self.reasons: list[str] = []  # why images were stopped early, for people

    @property
    def evaluations(self) -> int:
        return sum(scale.evaluations for scale in self.scales)

    @property
    def done(self) -> int:
        before = sum(scale.evaluations for scale in self.scales[: self._number])
        return before + (self._going.done if self._going else 0)

    @property
    def images(self) -> Tensor:
        """The images as they are, at the current scale: [N, 3, h, w] in [0, 1]."""
        if self._going is not None:
            return self._going.images
        return self._detailed if self._finished is None else self._finished

    def step(self) -> None:
        if self._going is None:
            self._going = self._begun()
        self._going.advance()

    def _begun(self) -> Optimisation:
        scale = self.scales[self._number]
        height, width = scale.shape(*self._originals.shape[2:])
        small = resize_to(self._originals, height, width)
        side = max(1, round(self._stroke * min(height, width)))
        paintings = [resize(painting, side) for painting in self._paintings]
        detailed = resize_to(self._detailed, height, width)
        if (before := self._finished) is None:
            start = detailed.clone()
        else:
            start = enlarged(before, resize_to(self._detailed, *before.shape[2:]), detailed)
        refined = 0 < self._number == len(self.scales) - 1
        return Optimisation(
            list(small),
            paintings,
            self._backbone,
            self._finest if refined else self._choices,
            scale.evaluations,
            start,
        )

    def advance(self) -> None:
        """Evaluate every image once, and begin the next scale where one has ended."""
        self.step()
        if self.evaluation_due and not self.finished:
            self.evaluate()

    @property
    def finished(self) -> bool:
        return self.evaluation_due and self._number == len(self.scales) - 1

    @property
    def evaluation_due(self) -> bool:
        return self._going is not None and self._going.finished

    def evaluate(self) -> bool:
        """Begin the next scale."""
        assert self._going is not None
        result = self._going.result()
        height, width = result.images.shape[2:]
        self._records, self._seconds = self._history(result), self._seconds + result.seconds
        self.reasons += [f"at {width}x{height}: {reason}" for reason in result.reasons if reason]
        self._finished, self._going = result.images, None
        self._number += 1
        return_freed_memory()  # in pieces of this scale's sizes, which the next has no use for
        return True

    def _history(self, result: Optimised) -> list[list[float]]:
        """The records so far and those of the current scale, whose evaluations count on."""
        before = sum(scale.evaluations for scale in self.scales[: self._number])
        seconds = self._seconds
        counted = result.history.assign(
            evaluation=lambda rows: rows["evaluation"] + before,
            seconds=lambda rows: rows["seconds"] + seconds,
        )
        return self._records + counted[list(HISTORY)].to_numpy().tolist()

    def result(self) -> Optimised:
        """The images of the last scale, how they ended there, and the history of all scales."""
        assert self._going is not None
        result = self._going.result()
        history = history_of(self._history(result))
        return replace(
            result,
            history=history,
            evaluations_done=history.groupby("image").size().tolist(),
            seconds=self._seconds + result.seconds,
        )

    def check_divergence(self) -> str:
        return ""

    def state(self) -> dict[str, Any]:
        """State from which `restore` goes on; little more than the images at the end."""
        going = None if self._going is None else self._going.state()
        return {
            "number": self._number,
            "finished": self._finished,
            "records": self._records,
            "seconds": self._seconds,
            "reasons": self.reasons,
            "going": going,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what another object of the same arguments gave as `state`."""
        self._number, self._finished = state["number"], state["finished"]
        self._records, self._seconds = state["records"], state["seconds"]
        self.reasons = state["reasons"]
        self._going = None
        if state["going"] is not None:
            self._going = self._begun()
            self._going.restore(state["going"])
