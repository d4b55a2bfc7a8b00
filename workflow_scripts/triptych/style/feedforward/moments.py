"""Instance normalisation from the moments of parts: an image's tiles, or its bands of rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.feedforward.network import InstanceNorm
from triptych.style.losses import BAND


def at_least_float32(dtype: torch.dtype) -> torch.dtype:
    """The type of sums, means and variances of values of `dtype`."""
    return torch.float64 if dtype == torch.float64 else torch.float32


@dataclass(frozen=True)
class Norm:
    """An instance normalisation's affine part, [C] each, in float32 or float64."""

    gamma: Tensor
    beta: Tensor
    epsilon: float

    @classmethod
    def of(cls, module: InstanceNorm, dtype: torch.dtype) -> "Norm":
        """The module's, for activations of `dtype`."""
        kind = at_least_float32(dtype)
        return cls(module.weight.detach().to(kind), module.bias.detach().to(kind), module.eps)


@dataclass(frozen=True)
class KnownNorm:
    """A normalisation whose statistics, [C] each, have been measured."""

    norm: Norm
    mean: Tensor
    variance: Tensor

    def apply(self, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """[1, C, h, w] normalised, a new tensor of `dtype` with channels last."""
        x = x.to(dtype or x.dtype).contiguous(memory_format=torch.channels_last)
        gamma, beta, epsilon = self.norm.gamma, self.norm.beta, self.norm.epsilon
        return functional.batch_norm(x, self.mean, self.variance, gamma, beta, eps=epsilon)


class Moments:
    """Means and squared deviations of channels, over parts that come one by one."""

    def __init__(self) -> None:
        self._counts: list[int] = []
        self._means: list[Tensor] = []
        self._squares: list[Tensor] = []

    def add(self, part: Tensor) -> None:
        """Take [1, C, h, w], channels last, in."""
        for band in _bands(part):
            count, channels = band.shape[-2] * band.shape[-1], band.shape[1]
            kind = at_least_float32(band.dtype)
            mean, variance = torch.zeros(2, channels, dtype=kind, device=band.device)
            if count == 1:  # of which batch normalisation refuses to take the variance
                mean = band.flatten().to(kind)
            else:
                # The operator that takes both in two reads of channels that lie last.
                functional.batch_norm(band, mean, variance, training=True, momentum=1.0)
            self._counts.append(count)
            self._means.append(mean)
            self._squares.append(variance * (count - 1))

    def known(self, norm: Norm) -> KnownNorm:
        """What normalises by the whole's moments (Chan, Golub and LeVeque 1983), in float64."""
        means = torch.stack(self._means).double()
        counts = torch.tensor(self._counts, dtype=torch.float64, device=means.device)[:, None]
        mean = (counts * means).sum(0) / counts.sum()
        between = (counts * (means - mean).square()).sum(0)
        variance = (torch.stack(self._squares).double().sum(0) + between) / counts.sum()
        return KnownNorm(norm, mean.to(norm.gamma.dtype), variance.to(norm.gamma.dtype))


def normalised(x: Tensor, norm: Norm) -> Tensor:
    """Instance normalisation of [N, C, H, W], each image by its own moments; a new tensor."""
    each = []
    for image in x.split(1):
        moments = Moments()
        moments.add(image)
        each.append(moments.known(norm).apply(image))
    return each[0] if len(each) == 1 else torch.cat(each)


def _bands(part: Tensor) -> Iterator[Tensor]:
    """Bands of whole rows, contiguous in memory where the part is; on a GPU the part itself.

    A GPU sums in a tree, a CPU one pixel after another.
    """
    if part.device.type == "cuda":
        return iter((part,))
    return iter(part.split(max(1, BAND // part.shape[-1]), dim=-2))
