"""What a style is: a painting, or several mixed by weights, each with a mask of what counts.

Mixed paintings have one target, the weighted mean of their Gram matrices over positions: that of a
canvas of which each painting covers its share (`tests/style/test_styles.py`). So does
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
    """A painting [3, h, w] in [0, 1], its weight against others', and its mask [1, h, w] in [0, 1]:
    what of the painting is looked at; None: all of it."""

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
    style: Style, grams_of: Callable[[Tensor, Tensor | None], list[Tensor]]
) -> list[Tensor]:
    """Gram matrices [C, C] over positions that images of a style are compared with, one a layer.

    grams_of: those of a painting [1, 3, h, w] and its mask
    """
    paintings = [Painting(style)] if isinstance(style, Tensor) else list(style)
    measured = [grams_of(each.image[None], each.mask) for each in paintings]
    if len(measured) == 1:
        return measured[0]
    shares = measured[0][0].new_tensor([each.weight for each in paintings])
    shares = shares / shares.sum()
    return [
        torch.einsum("k,kij->ij", shares, torch.stack(grams))
        for grams in zip(*measured, strict=True)
    ]


def guide(mask: Tensor, shape: tuple[int, int]) -> Tensor:
    """What features of that shape (height, width) are multiplied by, [1, H, W].

    How much of a mask [1, h, w] lies at each position, scaled so that a Gram matrix's mean over
    positions is one over the mask: guided Gram matrices (Gatys et al. 2017, section 4).
    """
    share = functional.adaptive_avg_pool2d(mask, shape)
    return share / share.square().mean().sqrt()
