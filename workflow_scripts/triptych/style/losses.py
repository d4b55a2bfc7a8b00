"""Losses of both versions: Gram matrices (Eq. 3, 4 and 6), content (Eq. 1 and 5), total variation.

Every loss is one value an image, [N]. Features are [N, C, H, W]; a target's leading dimension is N,
or 1 for a target that all images share. Products and sums are taken in float32 at least: a Gram
matrix in half precision overflows.
"""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Scaling = Literal["equation", "mean", "relative"]
"""Scale of the losses: as the paper's equations, as means, or relative to the target."""

Differences = Callable[[Tensor, Tensor], Tensor]
"""Elementwise loss of features against targets, of their shape."""

BAND = 4096
"""Positions that float32 sums one after another; whole images would cost a digit or two."""


def gram_matrix(features: Tensor) -> Tensor:
    """Inner products of the filters over all positions, [N, C, C] of [N, C, H, W] (Eq. 4)."""
    return _Gram.apply(features)


def position_gram(features: Tensor) -> Tensor:
    """`gram_matrix` over the number of positions H·W, so that images of two sizes compare."""
    return gram_matrix(features) / (features.shape[2] * features.shape[3])


def style_term(grams: Tensor, targets: Tensor, scaling: Scaling) -> Tensor:
    """Distance of `position_gram`s [N, C, C] to a painting's, [N].

    "equation" is E_l of Eq. 3, where both images have as many positions, as the paper's do;
    "mean" the authors' notebook: the mean square of Gram matrices over C·H·W; "relative" the
    squared distance over the target's squared norm: 1 for a black image, whatever the layer.
    """
    squared = (grams - targets).square().sum((1, 2))
    filters = grams.shape[1]
    if scaling == "equation":
        return squared / (4 * filters**2)
    if scaling == "mean":
        return squared / filters**4
    return squared / nonzero(targets.square().sum((1, 2)))


def content_term(
    features: Tensor,
    targets: Tensor,
    differences: Differences,
    scaling: Scaling,
    equation_factor: float = 1.0,
) -> Tensor:
    """Distance of features to the content image's, [N].

    "equation" is the sum of `differences` times `equation_factor` (Eq. 1: half the sum of squares);
    "mean" their mean; "relative" the mean of those in standard deviations of the target.
    """
    features, targets = _at_least_float32(features), _at_least_float32(targets)
    if scaling == "relative":
        variance = targets.flatten(1).var(1, correction=0)
        deviation = nonzero(variance).sqrt().view(-1, 1, 1, 1)
        features, targets = features / deviation, targets / deviation
    total = differences(features, targets.expand_as(features)).flatten(1).sum(1)
    if scaling == "equation":
        return total * equation_factor
    return total / features[0].numel()


def total_variation(images: Tensor, again: Tensor | None = None) -> Tensor:
    """Mean squared difference of horizontal neighbours plus that of vertical ones, [N].

    again: a view of the images, whose gradients are then summed by direction
    """
    colours, height, width = images.shape[-3:]
    again = images if again is None else again
    along = images.diff(dim=-1).square().flatten(1).sum(1)
    down = again.diff(dim=-2).square().flatten(1).sum(1)
    return along / (colours * height * (width - 1)) + down / (colours * (height - 1) * width)


class _Gram(torch.autograd.Function):
    """F·Fᵀ with one product in its backward pass, where autograd would take two; in the features'
    precision, but for fp16, whose range the gradient exceeds."""

    @staticmethod
    def forward(ctx: Any, features: Tensor) -> Tensor:
        ctx.save_for_backward(features)
        with torch.autocast(features.device.type, enabled=False):
            flat = _positions(features)
            # A GPU sums in a tree, a CPU one position after another.
            size = flat.shape[1] if flat.device.type == "cuda" else BAND
            bands = [_at_least_float32(band) for band in flat.split(size, dim=1)]
            return torch.stack([band.mT @ band for band in bands]).sum(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (features,) = ctx.saved_tensors
        n, channels, height, width = features.shape
        with torch.autocast(features.device.type, enabled=False):
            flat = _positions(features)
            flat = _at_least_float32(flat) if flat.dtype == torch.float16 else flat
            product = flat @ (gradient + gradient.mT).to(flat.dtype)
        return product.to(features.dtype).view(n, height, width, channels).permute(0, 3, 1, 2)


def _positions(features: Tensor) -> Tensor:
    """[N, C, H, W] as [N, H W, C], with no copy where channels lie last in memory."""
    return features.permute(0, 2, 3, 1).flatten(1, 2)


def _at_least_float32(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def nonzero(values: Tensor) -> Tensor:
    """Values with zeros replaced by ones: nothing is relative to a black or uniform image."""
    return torch.where(values > 0, values, torch.ones_like(values))
