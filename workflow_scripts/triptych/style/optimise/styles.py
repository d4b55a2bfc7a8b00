"""Styles: a painting, or several mixed by weights, each with a mask of what counts.

Mixed paintings have one target, the weighted mean of their statistics (Gram matrices over
positions, for instance): that of a canvas of which each painting covers its share. So does
crowsonkb/style-transfer-pytorch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.data.image_files import shape_along
from triptych.style.data.images import resize_to


@dataclass(frozen=True)
class Painting:
    """A painting [3, h, w] in [0, 1], its weight, and its mask [1, h, w] in [0, 1].

    The mask is 1 where the painting counts; None: everywhere.
    """

    image: Tensor
    weight: float = 1.0
    mask: Tensor | None = None

    def to(self, device: torch.device) -> "Painting":
        """The painting on a device."""
        mask = None if self.mask is None else self.mask.to(device)
        return Painting(self.image.to(device), self.weight, mask)

    def at(self, height: int, width: int, scale: float = 1.0) -> "Painting":
        """The painting `scale` times as large as an image of that size, measured along the shorter
        sides. A larger painting makes larger strokes."""
        side = max(1, round(scale * min(height, width)))
        shape = shape_along(self.image.shape[1], self.image.shape[2], side)
        mask = None if self.mask is None else resize_to(self.mask, *shape)
        return Painting(resize_to(self.image, *shape), self.weight, mask)


Style = Tensor | Sequence[Painting]
"""A painting [3, h, w], or several that are mixed."""


def style_targets(
    style: Style, measure: Callable[[Tensor, Tensor | None], list[Tensor]]
) -> list[Tensor]:
    """Statistics [...] that images of a style are compared with, one a layer.

    measure: gives those of a painting [1, 3, h, w] and its mask
    """
    paintings = [Painting(style)] if isinstance(style, Tensor) else list(style)
    measured = [measure(painting.image[None], painting.mask) for painting in paintings]
    if len(measured) == 1:
        return measured[0]
    shares = measured[0][0].new_tensor([painting.weight for painting in paintings])
    shares = shares / shares.sum()
    return [
        torch.einsum("k,k...->...", shares, torch.stack(layer))
        for layer in zip(*measured, strict=True)
    ]


def guide(mask: Tensor, shape: tuple[int, int]) -> Tensor:
    """Factors [1, H, W] for features of that shape (height, width).

    How much of a mask [1, h, w] lies at each position, scaled so that a Gram matrix's mean over
    positions is one over the mask: guided Gram matrices (Gatys et al. 2017, section 4).
    """
    share = functional.adaptive_avg_pool2d(mask, shape)
    return share / share.square().mean().sqrt()
