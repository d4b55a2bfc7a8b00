"""The transformation network rearranged for inference: the same function, in half the time.

Exact up to rounding: instance normalisation takes away the bias before it; an enlargement with its
convolution is four convolutions 2x2 at the low resolution (Shi et al. 2016, sub-pixel convolution);
and the last layer makes four neighbouring pixels at once. Channels lie last in memory. bf16 and
fp16 hold activations and weights; sums, means and variances are float32.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.losses import BAND
from triptych.style.network.network import (
    FULL,
    NEAREST,
    Convolution,
    InstanceNorm,
    Palette,
    PixelConvolution,
    ReflectedConvolution,
    TransformationNetwork,
    TransposedConvolution,
    padded_to_multiple,
    sub_pixel,
)


def at_least_float32(dtype: torch.dtype) -> torch.dtype:
    """The type of sums, means and variances of values of `dtype`."""
    return torch.float64 if dtype == torch.float64 else torch.float32


@dataclass(frozen=True)
class Norm:
    """An instance normalisation's affine part, [C] each, in float32 or float64."""

    gamma: Tensor
    beta: Tensor
    epsilon: float

    def applied(self, image: Tensor) -> Tensor:
        """An image [1, C, H, W], channels last, normalised by its own moments; a new tensor.

        The moments are those of bands, joined in float64 (Chan, Golub and LeVeque 1983).
        """
        kind, channels = self.gamma.dtype, image.shape[1]
        # Bands of whole rows, since a CPU sums one pixel after another; a GPU sums in a tree.
        rows = image.shape[-2] if image.is_cuda else max(1, BAND // image.shape[-1])
        counts, means, squares = [], [], []
        for band in image.split(rows, dim=-2):
            count = band.shape[-2] * band.shape[-1]
            mean, variance = torch.zeros(2, channels, dtype=kind, device=band.device)
            if count == 1:  # of which batch normalisation refuses to take the variance
                mean = band.flatten().to(kind)
            else:
                # The operator that takes both in two reads of channels that lie last.
                functional.batch_norm(band, mean, variance, training=True, momentum=1.0)
            counts.append(count)
            means.append(mean)
            squares.append(variance * (count - 1))
        of_bands = torch.stack(means).double()
        weights = torch.tensor(counts, dtype=torch.float64, device=image.device)[:, None]
        mean = (weights * of_bands).sum(0) / weights.sum()
        between = (weights * (of_bands - mean).square()).sum(0)
        variance = (torch.stack(squares).double().sum(0) + between) / weights.sum()
        moments = mean.to(kind), variance.to(kind)
        image = image.contiguous(memory_format=torch.channels_last)
        return functional.batch_norm(image, *moments, self.gamma, self.beta, eps=self.epsilon)


Precision = Literal["float32", "bf16", "fp16", "float64"]

DTYPES = {
    "float32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "float64": torch.float64,
}
"""float64 is for tests: it tells rounding from mistakes."""

NEIGHBOURS = 4
"""Pixels of a row that the last convolution makes at once; widths are multiples of it."""

TRANSPOSED = (((0.0, 1.0, 0.0), (0.0, 0.0, 0.0)), ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))
"""As NEAREST for a transposed 3-tap filter of stride 2, with x[i] and x[i + 1]: an even pixel is
x[i] w1; an odd one x[i] w2 + x[i + 1] w0."""

WRONG_ON_AMX = range(9, 32)
"""Input channels at which the last convolution in bf16 gives garbage by oneDNN's kernels for AMX,
unless its weight has a column of zeros more."""


@dataclass(frozen=True)
class Stage:
    """One convolution with its border: so many pixels `before` and `after` each side, and `spare`
    columns more at the right."""

    weight: Tensor
    """[C' * pixels, C, h, w], where a position makes `block` pixels of C' channels"""
    bias: Tensor | None
    norm: Norm | None
    border: Literal["reflect", "replicate", "constant"]
    before: int
    after: int
    stride: tuple[int, int] = (1, 1)
    block: tuple[int, int] = (1, 1)
    crop: int = 0
    spare: int = 0
    """Columns of zeros at the right of the weight, which reach as far beyond the input."""

    @property
    def channels(self) -> int:
        return self.weight.shape[0] // (self.block[0] * self.block[1])

    def convolve(self, padded: Tensor) -> Tensor:
        """[N, C, h, w] with its border -> [N, C', h', w'], channels last, not normalised."""
        x = functional.conv2d(padded, self.weight, self.bias, self.stride)
        if self.block == (1, 1):
            return x
        (rows, columns), (n, _, height, width) = self.block, x.shape
        # Memory is [N, h, w, row, column, C']: one copy, none at all where `rows` is 1.
        x = x.permute(0, 2, 3, 1).view(n, height, width, rows, columns * self.channels)
        x = x.transpose(2, 3).reshape(n, height * rows, width * columns, self.channels)
        if self.crop:
            inner = slice(self.crop, -self.crop)
            x = x[:, inner, inner].contiguous()
        return x.permute(0, 3, 1, 2)

    def applied(self, x: Tensor) -> Tensor:
        """Images convolved, and each normalised by its own moments."""
        sides = (self.before, self.after + self.spare, self.before, self.after)
        x = self.convolve(functional.pad(x, sides, mode=self.border) if any(sides) else x)
        if self.norm is None:
            return x
        images = [self.norm.applied(image) for image in x.split(1)]
        return images[0] if len(images) == 1 else torch.cat(images)


class PreparedNetwork:
    """`TransformationNetwork.forward` for inference, on the network's device: images [N, 3, H, W]
    in [0, 1] to float32 (float64 in float64) of that shape, not clamped."""

    def __init__(self, network: TransformationNetwork, precision: Precision = "float32") -> None:
        self.precision: Precision = precision
        self.dtype = dtype = DTYPES[precision]
        self.architecture = network.architecture
        self.device = next(network.parameters()).device
        parts: list[Sequence[tuple[Convolution, InstanceNorm]]]
        parts = [network.entry, network.exit, *(block.branch for block in network.blocks)]
        self.entry, self.exit, *self.blocks = (
            [_stage(convolution, norm, dtype) for convolution, norm in part] for part in parts
        )
        self.last = _last(network.deconv3, network.palette, dtype)
        self._offset = None if network.palette is None else network.palette.offset

    def __call__(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        kind = at_least_float32(self.dtype)
        with torch.no_grad(), exact_convolutions(self.precision):
            images = padded_to_multiple(images, self.architecture).to(self.device, kind)
            x = (images * FULL).to(self.dtype, memory_format=torch.channels_last)
            for stage in self.entry:
                x = stage.applied(x).relu_()
            for *inner, last in self.blocks:
                y = x
                for stage in inner:
                    y = stage.applied(y).relu_()
                x = last.applied(y).add_(x)
            for stage in self.exit:
                x = stage.applied(x).relu_()
            x = self.last.applied(x).to(kind, memory_format=torch.contiguous_format)
            if self._offset is not None:
                x.add_(self._offset.to(x)[:, None, None])
            return x[..., :height, :width].contiguous()


@contextlib.contextmanager
def exact_convolutions(precision: str) -> Iterator[None]:
    """Float32 convolutions in float32 on a GPU too, where cuDNN's default is TF32."""
    if precision != "float32" or not torch.cuda.is_available():
        yield
        return
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


def _laid_out(weight: Tensor, dtype: torch.dtype) -> Tensor:
    return weight.to(dtype).contiguous(memory_format=torch.channels_last)


def _stage(module: Convolution, norm: InstanceNorm, dtype: torch.dtype) -> Stage:
    """A convolution whose bias is left out, since the normalisation behind it takes it away.

    Either enlargement is one convolution 2x2 that makes the four pixels of each position.
    """
    kind, weight = at_least_float32(dtype), module.conv2d.weight.detach()
    affine = Norm(norm.weight.detach().to(kind), norm.bias.detach().to(kind), norm.eps)
    if isinstance(module, ReflectedConvolution):
        stride, margin = module.conv2d.stride[0], module.margin
        # Sizes are even, so that a stride of 2 never reaches the last of the far border.
        after = margin + 1 - stride
        weight = _laid_out(weight, dtype)
        return Stage(weight, None, affine, "reflect", margin, after, stride=(stride, stride))
    weight = weight.double()
    if isinstance(module, TransposedConvolution):
        weight = _laid_out(sub_pixel(weight.transpose(0, 1), TRANSPOSED).flatten(0, 2), dtype)
        return Stage(weight, None, affine, "constant", before=0, after=1, block=(2, 2))
    # The odd pixel 2i - 1 and the even one 2i, in this order; the outermost of either kind falls
    # away.
    weight = _laid_out(sub_pixel(weight, NEAREST).flatten(0, 2), dtype)
    return Stage(weight, None, affine, "replicate", before=1, after=1, block=(2, 2), crop=1)


def _last(
    module: ReflectedConvolution | PixelConvolution, palette: Palette | None, dtype: torch.dtype
) -> Stage:
    """The last convolution, as one with a stride that makes several pixels of a row at once; the
    palette (not its mean), or the division by 255, multiplied in."""
    assert module.conv2d.bias is not None
    weight, bias = module.conv2d.weight.detach().double(), module.conv2d.bias.detach().double()
    pixels = len(bias) // 3
    matrix = torch.eye(3, dtype=torch.float64, device=weight.device) / FULL
    if palette is not None:
        matrix = palette.matrix.double()
    weight = torch.einsum("oc,cpikl->poikl", matrix, weight.unflatten(0, (3, pixels))).flatten(0, 1)
    bias = torch.einsum("oc,cp->po", matrix, bias.view(3, pixels)).flatten()
    if isinstance(module, PixelConvolution):
        return Stage(
            weight=_laid_out(weight, dtype),
            bias=bias.to(dtype),
            norm=None,
            border="reflect",
            before=module.margin,
            after=module.margin,
            block=(2, 2),
        )
    outputs, inputs, side, _ = weight.shape
    spare = 1 if dtype == torch.bfloat16 and inputs in WRONG_ON_AMX else 0
    wide = weight.new_zeros(NEIGHBOURS, outputs, inputs, side, side + NEIGHBOURS - 1 + spare)
    for pixel in range(NEIGHBOURS):
        wide[pixel, ..., pixel : pixel + side] = weight
    return Stage(
        weight=_laid_out(wide.flatten(0, 1), dtype),
        bias=bias.repeat(NEIGHBOURS).to(dtype),
        norm=None,
        border="reflect",
        before=module.margin,
        after=module.margin,
        stride=(1, NEIGHBOURS),
        block=(1, NEIGHBOURS),
        spare=spare,
    )
