"""The image transformation network (Version 2): one forward pass stylises a photograph.

Johnson, Alahi and Li 2016: c9s1-32, d64, d128, five residual blocks of 128, u64, u32, c9s1-3, with
instance normalisation. Modules bear the names of pytorch/examples', whose checkpoints load.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.style.data.colours import square_root
from triptych.style.network.architecture import Architecture

FULL = 255.0
"""Images are 0 to 255 inside the network, as in the published checkpoints."""

NEAREST = (((1.0, 1.0, 0.0), (0.0, 0.0, 1.0)), ((1.0, 0.0, 0.0), (0.0, 1.0, 1.0)))
"""Taps of a 3-tap filter that act on x[i - 1] and on x[i] after nearest-neighbour doubling, for the
odd pixel 2i - 1 and the even one 2i: [parity, input, tap]."""


class ReflectedConvolution(nn.Module):
    """A convolution whose input is padded by reflection with half the kernel's side."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.margin = kernel // 2
        self.conv2d = nn.Conv2d(inputs, outputs, kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> [N, C', ceil(H / stride), ceil(W / stride)]"""
        return self.conv2d(functional.pad(x, (self.margin,) * 4, mode="reflect"))


class TransposedConvolution(nn.Module):
    """Doubles the size by a transposed 3x3 convolution of stride 2, as the paper says."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv2d = nn.ConvTranspose2d(inputs, outputs, 3, 2, padding=1, output_padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> [N, C', 2H, 2W]"""
        return self.conv2d(x)


class NearestConvolution(nn.Module):
    """Doubles the size by nearest neighbours and convolves 3x3: fewer checkerboards.

    As four convolutions 2x2 at the low resolution (Shi et al. 2016, sub-pixel convolution).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv2d = nn.Conv2d(inputs, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> [N, C', 2H, 2W]"""
        weight, bias = sub_pixel(self.conv2d.weight, NEAREST), self.conv2d.bias
        assert bias is not None
        # Reflected at full resolution the enlarged image repeats its outermost low pixel.
        padded = functional.pad(x, (1, 1, 1, 1), mode="replicate")
        weight = weight.permute(2, 0, 1, 3, 4, 5).flatten(0, 2)
        pixels = functional.conv2d(padded, weight, bias.repeat_interleave(4))
        return functional.pixel_shuffle(pixels, 2)[..., 1:-1, 1:-1]


def sub_pixel(weight: Tensor, taps: Sequence[Sequence[Sequence[float]]]) -> Tensor:
    """A doubling's filters at the low resolution: [2, 2, C', C, 2, 2] of [C', C, 3, 3].

    taps: as NEAREST. The first two dimensions are a pixel's place among four.
    """
    with torch.autocast(weight.device.type, enabled=False):
        places = torch.tensor(taps, dtype=weight.dtype, device=weight.device)
        return torch.einsum("oikl,pak,qbl->pqoiab", weight, places, places)


class PixelConvolution(nn.Module):
    """Doubles the size by a convolution whose channels are four neighbouring pixels.

    Shi et al. 2016, sub-pixel convolution. The four begin alike, as nearest neighbours would have
    them, so that no lattice is there from the start (Aitken et al. 2017).
    """

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.margin = kernel // 2
        self.conv2d = nn.Conv2d(inputs, 4 * outputs, kernel)
        with torch.no_grad():
            for parameter in (self.conv2d.weight, self.conv2d.bias):
                assert parameter is not None
                parameter.copy_(parameter[::4].repeat_interleave(4, 0))

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> [N, C', 2H, 2W]"""
        padded = functional.pad(x, (self.margin,) * 4, mode="reflect")
        return functional.pixel_shuffle(self.conv2d(padded), 2)


Convolution = ReflectedConvolution | TransposedConvolution | NearestConvolution


class Palette(nn.Module):
    """Mixes the last layer's three channels into a painting's colours; not trained.

    By the square root of the covariance of the painting's colours, and with their mean: channels of
    mean zero, variance one and no correlation get these moments.
    """

    matrix: Tensor
    offset: Tensor

    def __init__(self, styles: int = 1) -> None:
        super().__init__()
        several = () if styles == 1 else (styles,)
        self.register_buffer("matrix", (0.25 * torch.eye(3)).repeat(*several, 1, 1))
        self.register_buffer("offset", torch.full((*several, 3), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        """[N, 3, H, W] -> the same shape, mostly within [0, 1]; at least float32."""
        with torch.autocast(x.device.type, enabled=False):
            x = x if x.dtype == torch.float64 else x.float()
            # Written out: a matrix product of 3x3 may be rounded to TF32 on a GPU.
            matrix, offset = self.matrix.to(x), self.offset.to(x)
            terms = [x[:, i : i + 1] * _each(matrix[..., i]) for i in range(3)]
            return terms[0] + terms[1] + terms[2] + _each(offset)

    @torch.no_grad()
    def take(self, paintings: Sequence[Tensor]) -> None:
        """Set the map of each style from its painting [3, H, W] in [0, 1]."""
        for number, painting in enumerate(paintings):
            colours = painting.flatten(1).double()
            root = square_root(torch.cov(colours, correction=0), 1e-6)
            self.matrix.view(-1, 3, 3)[number] = root
            self.offset.view(-1, 3)[number] = colours.mean(1)


class InstanceNorm(nn.Module):
    """Instance normalisation with scale and shift: [C], or of several styles [S, C], in whose place
    `Styled` puts one mixture for each image, [N, C]."""

    eps = 1e-5

    def __init__(self, channels: int, styles: int) -> None:
        super().__init__()
        shape = (channels,) if styles == 1 else (styles, channels)
        self.weight, self.bias = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> the same shape"""
        if self.weight.ndim == 1:
            return functional.instance_norm(x, weight=self.weight, bias=self.bias, eps=self.eps)
        return functional.instance_norm(x, eps=self.eps) * _each(self.weight) + _each(self.bias)


def _each(values: Tensor) -> Tensor:
    """Values of channels [N, C], to be combined with images."""
    return values[..., None, None]


class ResidualBlock(nn.Module):
    """Convolutions beside the identity; no ReLU after the sum (Gross and Wilber): two 3x3 ones, or
    as many as halve the size `halvings` times and double it again."""

    def __init__(
        self,
        channels: int,
        styles: int,
        halvings: int,
        doubled: type[TransposedConvolution | NearestConvolution],
    ) -> None:
        super().__init__()
        down = [ReflectedConvolution(channels, channels, 3, 2) for _ in range(halvings)]
        up = [doubled(channels, channels) for _ in range(halvings)]
        two = [] if halvings else [ReflectedConvolution(channels, channels, 3) for _ in range(2)]
        for number, convolution in enumerate([*down, *up, *two], 1):
            self.add_module(f"conv{number}", convolution)
            self.add_module(f"in{number}", InstanceNorm(channels, styles))

    @property
    def branch(self) -> list[tuple[Convolution, InstanceNorm]]:
        """Convolutions and the norms behind them, in order; ReLUs lie between."""
        modules = list(self.children())
        return list(zip(modules[::2], modules[1::2], strict=True))  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> the same shape"""
        *inner, (last_convolution, last_norm) = self.branch
        y = x
        for convolution, norm in inner:
            y = functional.relu(norm(convolution(y)))
        return x + last_norm(last_convolution(y))


class TransformationNetwork(nn.Module):
    """The network of Johnson et al. 2016 with instance normalisation."""

    def __init__(self, architecture: Architecture | None = None) -> None:
        super().__init__()
        self.architecture = architecture = architecture or Architecture()
        narrow, styles = architecture.width, architecture.styles
        middle, wide = 2 * narrow, 4 * narrow
        if architecture.halved:
            self.conv1 = ReflectedConvolution(3, middle, 7, 2)
            self.in1 = InstanceNorm(middle, styles)
        else:
            self.conv1 = ReflectedConvolution(3, narrow, 9)
            self.in1 = InstanceNorm(narrow, styles)
            self.conv2 = ReflectedConvolution(narrow, middle, 3, 2)
            self.in2 = InstanceNorm(middle, styles)
        self.conv3, self.in3 = ReflectedConvolution(middle, wide, 3, 2), InstanceNorm(wide, styles)
        doubled: type[TransposedConvolution | NearestConvolution] = (
            TransposedConvolution if architecture.upsampling == "transposed" else NearestConvolution
        )
        self._blocks = [f"res{number}" for number in range(1, len(architecture.blocks) + 1)]
        for name, halvings in zip(self._blocks, architecture.blocks, strict=True):
            self.add_module(name, ResidualBlock(wide, styles, halvings, doubled))
        self.deconv1, self.in4 = doubled(wide, middle), InstanceNorm(middle, styles)
        self.deconv3: ReflectedConvolution | PixelConvolution
        if architecture.halved:
            self.deconv3 = PixelConvolution(middle, 3, 5)
        else:
            self.deconv2, self.in5 = doubled(middle, narrow), InstanceNorm(narrow, styles)
            self.deconv3 = ReflectedConvolution(narrow, 3, 9)
        self.palette = Palette(styles) if architecture.palette else None

    @property
    def entry(self) -> list[tuple[ReflectedConvolution, InstanceNorm]]:
        """Convolutions and norms before the residual blocks, in order; a ReLU follows each."""
        names = ("1", "3") if self.architecture.halved else ("1", "2", "3")
        return [(self.get_submodule(f"conv{n}"), self.get_submodule(f"in{n}")) for n in names]  # type: ignore[misc]

    @property
    def exit(self) -> list[tuple[Convolution, InstanceNorm]]:
        """Convolutions and norms behind the residual blocks, as `entry`; then comes deconv3."""
        first = (self.deconv1, self.in4)
        return [first] if self.architecture.halved else [first, (self.deconv2, self.in5)]

    @property
    def blocks(self) -> list[ResidualBlock]:
        return [self.get_submodule(name) for name in self._blocks]  # type: ignore[misc]

    def forward(self, images: Tensor) -> Tensor:
        """Stylised images of the shape of `images`, [N, 3, H, W] in [0, 1]; not clamped.

        Raises InputError for less than `Architecture.smallest` pixels a side.
        """
        height, width = images.shape[-2:]
        x = padded_to_multiple(images, self.architecture) * FULL
        for narrowing, norm in self.entry:
            x = functional.relu(norm(narrowing(x)))
        for block in self.blocks:
            x = block(x)
        for doubling, norm in self.exit:
            x = functional.relu(norm(doubling(x)))
        x = self.deconv3(x)
        x = x / FULL if self.palette is None else self.palette(x)
        return x[..., :height, :width]

    def of_styles(self) -> dict[str, Tensor]:
        """Parameters of each style, by name: [S, ...], or [...] where there is but one."""
        norms = [name for name, module in self.named_modules() if isinstance(module, InstanceNorm)]
        owners = [*norms, *(["palette"] if self.palette else [])]
        tensors = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        return {n: value for n, value in tensors.items() if n.rpartition(".")[0] in owners}

    def alone(self) -> list["TransformationNetwork"]:
        """A network for each of its styles; of one style itself."""
        count = self.architecture.styles
        if count == 1:
            return [self]
        device = next(self.parameters()).device
        return [Styled(self, mixture).alone() for mixture in torch.eye(count, device=device)]

    def of_each(self, styles: Tensor) -> "Styled":
        """The network with a style for each image, by its number: [N]."""
        return Styled(self, functional.one_hot(styles, self.architecture.styles))


class Styled:
    """A conditional network that stylises each image by a mixture of its styles."""

    def __init__(self, network: TransformationNetwork, mixture: Tensor) -> None:
        """mixture: [N, S], a weight of each style for each image; or [S], for all images."""
        self._network = network
        self._tensors = {
            name: torch.tensordot(mixture.to(value), value, 1)
            for name, value in network.of_styles().items()
        }

    def __call__(self, images: Tensor) -> Tensor:
        """Stylised images, [N, 3, H, W]; not clamped."""
        return torch.func.functional_call(self._network, self._tensors, (images,))

    def alone(self) -> TransformationNetwork:
        """A network of this mixture [S] alone, for inference."""
        state = {**self._network.state_dict(), **self._tensors}
        network = TransformationNetwork(replace(self._network.architecture, styles=1))
        network.to(state["conv1.conv2d.weight"]).load_state_dict(state)
        return network.eval().requires_grad_(False)


def padded_to_multiple(images: Tensor, architecture: Architecture) -> Tensor:
    """[N, 3, H, W], reflected at the bottom and the right up to multiples of the architecture's.

    Raises InputError for sides below its smallest.
    """
    height, width = images.shape[-2:]
    if min(height, width) < architecture.smallest:
        raise InputError(
            f"the image is {width}x{height} pixels; expected at least {architecture.smallest} "
            "each way. Enlarge it first."
        )
    down, right = -height % architecture.multiple, -width % architecture.multiple
    if not (down or right):
        return images
    return functional.pad(images, (0, right, 0, down), mode="reflect")
