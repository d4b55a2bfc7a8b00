"""Coarse to fine: a batch of images optimised at growing sizes, each begun from the one before.

What is painted small and enlarged has larger strokes (Gatys et al. 2017). It is enlarged with the
detail that the photograph has beyond it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from triptych.core.memory import return_freed_memory
from triptych.style.data.backbone import Backbone
from triptych.style.data.image_files import shape_along
from triptych.style.data.images import enlarged, resize, resize_to
from triptych.style.optimise.choices import Choices, methods
from triptych.style.optimise.gatys import Optimisation


@dataclass(frozen=True)
class Scale:
    """A scale: its sides over the full size's, and the evaluations of each image."""

    size: float
    evaluations: int

    def shape(self, height: int, width: int) -> tuple[int, int]:
        """Sides of an image which is `height` x `width` in full."""
        return shape_along(height, width, max(1, round(self.size * min(height, width))))


def scales(evaluations: Sequence[int]) -> list[Scale]:
    """A scale for each number of evaluations, coarse to fine, each half the next one's size."""
    last = len(evaluations) - 1
    return [Scale(0.5 ** (last - number), count) for number, count in enumerate(evaluations)]


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


class CoarseToFine:
    """A batch on its way through the scales, for `core.training_loop`. An image that diverges goes
    on at the next scale from its last good state.

    images: [N, 3, H, W] in [0, 1], at the full size: the content
    begun:  what the first scale begins from and the others take detail from, of the same shape
    painting: [3, h, w], as large as it came
    stroke: its size against the images', along their shorter sides
    finest: choices of the last scale where there are coarser ones (default: `choices`)
    """

    def __init__(
        self,
        images: Tensor,
        begun: Tensor,
        painting: Tensor,
        backbone: Backbone,
        choices: Choices,
        through: Sequence[Scale],
        *,
        stroke: float,
        finest: Choices | None = None,
    ) -> None:
        self._originals, self._detailed, self._painting = images, begun, painting
        self._backbone, self._choices, self.scales = backbone, choices, list(through)
        self._stroke = stroke
        self._finest = choices if finest is None else finest
        self._number = 0  # of the scale that goes
        self._going: Optimisation | None = None
        self._finished: Tensor | None = None
        self.reasons: list[str] = []  # why images were stopped early, for people

    @property
    def evaluations(self) -> int:
        """Evaluations of each image in all."""
        return sum(scale.evaluations for scale in self.scales)

    @property
    def done(self) -> int:
        """Evaluations so far."""
        before = sum(scale.evaluations for scale in self.scales[: self._number])
        return before + (self._going.done if self._going else 0)

    @property
    def images(self) -> Tensor:
        """The images as they are, at the current scale: [N, 3, h, w] in [0, 1]."""
        if self._going is not None:
            return self._going.images
        return self._detailed if self._finished is None else self._finished

    def step(self) -> None:
        """Evaluate every image once."""
        if self._going is None:
            self._going = self._begun()
        self._going.advance()

    def _begun(self) -> Optimisation:
        scale = self.scales[self._number]
        height, width = scale.shape(*self._originals.shape[2:])
        small = resize_to(self._originals, height, width)
        side = max(1, round(self._stroke * min(height, width)))
        painting = resize(self._painting, side)
        detailed = resize_to(self._detailed, height, width)
        if (before := self._finished) is None:
            start = detailed.clone()
        else:
            start = enlarged(before, resize_to(self._detailed, *before.shape[2:]), detailed)
        refined = 0 < self._number == len(self.scales) - 1
        return Optimisation(
            list(small),
            [painting] * len(small),
            self._backbone,
            self._finest if refined else self._choices,
            scale.evaluations,
            start,
        )

    @property
    def evaluation_due(self) -> bool:
        """Whether the current scale has ended."""
        return self._going is not None and self._going.finished

    def evaluate(self) -> bool:
        """Begin the next scale."""
        assert self._going is not None
        result = self._going.result()
        height, width = result.images.shape[2:]
        self.reasons += [f"at {width}x{height}: {reason}" for reason in result.reasons if reason]
        self._finished, self._going = result.images, None
        self._number += 1
        return_freed_memory()  # in pieces of this scale's sizes, which the next has no use for
        return True

    def check_divergence(self) -> str:
        """Never, since no batch diverges as a whole."""
        return ""

    def state(self) -> dict[str, Any]:
        """State from which `restore` goes on; little more than the images at the end."""
        going = None if self._going is None else self._going.state()
        state = {"number": self._number, "finished": self._finished, "reasons": self.reasons}
        return {**state, "going": going}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what another object of the same arguments gave as `state`."""
        self._number, self._finished = state["number"], state["finished"]
        self.reasons = state["reasons"]
        self._going = None
        if state["going"] is not None:
            self._going = self._begun()
            self._going.restore(state["going"])
