"""What a style is: a painting, several mixed by weights, or several, each in a region of its own.

Mixed paintings have one target, the weighted mean of their Gram matrices over positions. That is
the Gram matrix of a canvas of which each painting covers its share, and, where losses are squared
distances that no target scales, it has the gradient of the weighted sum of the paintings' losses,
from which it differs by a constant (`tests/style/test_styles.py` proves both). Mixing targets is
also how crowsonkb/style-transfer-pytorch blends styles.

A painting with a region has a target of its own, which only the features there are compared with:
guided Gram matrices (Gatys et al. 2017, "Controlling perceptual factors in neural style transfer",
section 4), whose guides are the region averaged over each of a layer's positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.images import resize_to, shape_along


@dataclass(frozen=True)
class Painting:
    """A painting, how much it counts beside others, and where.

    image:  [3, h, w] in [0, 1]
    weight: above 0, against the others'
    mask:   [1, h, w] in [0, 1], what of the painting is looked at; None: all of it
    region: [1, H, W] in [0, 1], where in the image it is the style; None: everywhere
    """

    image: Tensor
    weight: float = 1.0
    mask: Tensor | None = None
    region: Tensor | None = None

    def to(self, device: torch.device) -> "Painting":
        """On a device."""
        mask = None if self.mask is None else self.mask.to(device)
        region = None if self.region is None else self.region.to(device)
        return Painting(self.image.to(device), self.weight, mask, region)

    def at(self, height: int, width: int, scale: float = 1.0) -> "Painting":
        """For an image of that size: its region as large, itself `scale` times as large, measured
        along the shorter sides. A larger painting makes larger strokes."""
        side = max(1, round(scale * min(height, width)))
        shape = shape_along(self.image.shape[1], self.image.shape[2], side)
        return Painting(
            resize_to(self.image, *shape),
            self.weight,
            None if self.mask is None else resize_to(self.mask, *shape),
            None if self.region is None else resize_to(self.region, height, width),
        )


Style = Tensor | Sequence[Painting]
"""A painting [3, h, w], or paintings: those without a region are mixed."""


@dataclass(frozen=True)
class Part:
    """What a region's features are compared with: Gram matrices [C, C] over positions, by layer.

    weight: of its loss; 1 for a style without regions
    """

    region: Tensor | None
    weight: float
    targets: list[Tensor]


def parts_of(style: Style, grams_of: Callable[[Tensor, Tensor | None], list[Tensor]]) -> list[Part]:
    """A style's parts; `grams_of` a painting [1, 3, h, w] and its mask gives a matrix a layer.

    A region counts by its area, so that paintings of one weight pull each pixel alike, whatever
    the regions' sizes; the weights of all parts add up to the area that they cover.
    """
    paintings = [Painting(style)] if isinstance(style, Tensor) else list(style)
    measured = [(each, grams_of(each.image[None], each.mask)) for each in paintings]
    parts: list[tuple[Tensor | None, float, float, list[Tensor]]] = []
    mixed = [(each.weight, grams) for each, grams in measured if each.region is None]
    if mixed:
        weights = [weight for weight, _ in mixed]
        targets = [_mean(weights, grams) for grams in zip(*(g for _, g in mixed), strict=True)]
        parts.append((None, sum(weights), 1.0, targets))
    for each, grams in measured:
        if each.region is not None:
            parts.append((each.region, each.weight, float(each.region.mean()), grams))
    pulls = sum(weight * area for _, weight, area, _ in parts)
    areas = sum(area for _, _, area, _ in parts)
    return [
        Part(region, weight * area * areas / pulls, targets)
        for region, weight, area, targets in parts
    ]


def guide(mask: Tensor, shape: tuple[int, int]) -> Tensor:
    """What features of that shape (height, width) are multiplied by, [1, H, W]: how much of a mask
    [1, h, w] lies at each position, scaled so that a Gram matrix's mean over positions is one over
    the mask, weighted by its square."""
    share = functional.adaptive_avg_pool2d(mask, shape)
    return share / share.square().mean().sqrt()


def _mean(weights: Sequence[float], grams: Sequence[Tensor]) -> Tensor:
    """Weighted; of one the thing itself."""
    if len(grams) == 1:
        return grams[0]
    shares = torch.tensor(weights, dtype=grams[0].dtype, device=grams[0].device)
    return torch.einsum("k,kij->ij", shares / shares.sum(), torch.stack(list(grams)))
