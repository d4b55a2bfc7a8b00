"""Losses of Version 1: Eq. 1-4 of the paper, the authors' means, and relative ones.

Every loss is one value an image, [N]. Features are [N, C, H, W]; a target's leading dimension is N,
or 1 for a target that all images share. Products and sums are taken in float32 at least: a Gram
matrix in half precision overflows.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from triptych.style.optimise.presets import ContentLoss, Scaling

CONTENT_LOSSES: dict[str, Callable[..., Tensor]] = {
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "smooth_l1": functional.smooth_l1_loss,
    "huber": functional.huber_loss,
}


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
    return squared / _not_zero(targets.square().sum((1, 2)))


def content_term(features: Tensor, targets: Tensor, kind: ContentLoss, scaling: Scaling) -> Tensor:
    """Distance of features to the content image's, [N]. "equation" with "mse" is Eq. 1, half the
    sum of squares; the other kinds are sums likewise. "mean" are torch.nn.functional's means;
    "relative" means of differences in standard deviations of the target."""
    deviation = content_deviation(targets) if scaling == "relative" else None
    total = content_sum(features, targets, kind, deviation)
    return scaled_content(total, features[0].numel(), kind, scaling)


def content_deviation(targets: Tensor) -> Tensor:
    """Standard deviation of targets [N, C, H, W] for "relative" losses, [N, 1, 1, 1]."""
    return _not_zero(_widened(targets).flatten(1).var(1, correction=0)).sqrt().view(-1, 1, 1, 1)


def content_sum(
    features: Tensor, targets: Tensor, kind: ContentLoss, deviation: Tensor | None
) -> Tensor:
    """Losses of features summed over filters and positions, [N]; in deviations if there are any."""
    features, targets = _widened(features), _widened(targets)
    if deviation is not None:
        features, targets = features / deviation, targets / deviation
    targets = targets.expand_as(features)
    return CONTENT_LOSSES[kind](features, targets, reduction="none").flatten(1).sum(1)


def scaled_content(total: Tensor, numbers: int, kind: ContentLoss, scaling: Scaling) -> Tensor:
    """`content_term` of a whole image's `content_sum` over that many numbers, [N]."""
    if scaling == "equation":
        return total * (0.5 if kind == "mse" else 1.0)
    return total / numbers


def total_variation(images: Tensor) -> Tensor:
    """Mean squared difference of horizontal neighbours plus that of vertical ones, [N]."""
    height, width = images.shape[-2:]
    return variation_sum(images, images, height, width)


def variation_sum(horizontal: Tensor, vertical: Tensor, height: int, width: int) -> Tensor:
    """A part's share of an image's `total_variation`, [N]: of neighbours in the rows of one piece
    [N, 3, h, w] and in the columns of another."""
    along = horizontal.diff(dim=-1).square().flatten(1).sum(1)
    down = vertical.diff(dim=-2).square().flatten(1).sum(1)
    colours = horizontal.shape[1]
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
            bands = [_widened(band) for band in flat.split(size, dim=1)]
            return torch.stack([band.mT @ band for band in bands]).sum(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (features,) = ctx.saved_tensors
        n, channels, height, width = features.shape
        with torch.autocast(features.device.type, enabled=False):
            flat = _positions(features)
            flat = _widened(flat) if flat.dtype == torch.float16 else flat
            product = flat @ (gradient + gradient.mT).to(flat.dtype)
        return product.to(features.dtype).view(n, height, width, channels).permute(0, 3, 1, 2)


def _positions(features: Tensor) -> Tensor:
    """[N, C, H, W] as [N, H W, C], with no copy where channels lie last in memory."""
    return features.permute(0, 2, 3, 1).flatten(1, 2)


def _widened(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _not_zero(values: Tensor) -> Tensor:
    """A black painting or a uniform content has nothing to be relative to: absolute, then."""
    return torch.where(values > 0, values, torch.ones_like(values))
