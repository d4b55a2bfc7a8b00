"""The image transformation network (Version 2): one forward pass stylises a photograph.

Johnson, Alahi and Li 2016 and their supplementary material: c9s1-32, d64, d128, five residual
blocks of 128, u64, u32, c9s1-3, instance normalisation instead of batch normalisation. Modules
bear the names of pytorch/examples' fast_neural_style, whose checkpoints therefore load.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from triptych.core.errors import InputError

Upsampling = Literal["transposed", "nearest"]

STRIDE = 4
"""Two convolutions of stride 2: height and width inside are multiples of this."""

SMALLEST = 16
"""Pixels; below this the reflection in the 9x9 convolutions and the blocks has no room."""

CALM = 1e-3
"""Added to a colour channel's variance; images in [0, 1], so 8 of 255 levels."""

SHADES = 0.3
"""Added to the variances of normalised colours; they are near one."""

FULL = 255.0
"""Images are 0 to 255 inside the network, as in the published checkpoints."""


@dataclass(frozen=True)
class Architecture:
    """What determines the network's shape.

    `width` is the channels of the first layer (the paper's 32); the others are 2 and 4 times as
    many. `upsampling` is the paper's transposed convolution 3x3 of stride 2 or, as in
    pytorch/examples, nearest neighbours x2 and a 3x3 convolution. With `identity_start` the
    photograph is recoloured first (see Recolouring), the network's output is added to that, and
    the last convolution starts at zero: training starts from the photograph itself.
    """

    width: int = 32
    upsampling: Upsampling = "transposed"
    residual_blocks: int = 5
    identity_start: bool = False

    def __post_init__(self) -> None:
        if self.width < 1 or self.residual_blocks < 0:
            raise InputError(
                f"width {self.width} with {self.residual_blocks} residual blocks; expected a "
                "width of at least 1 and no negative number of blocks"
            )
        if self.upsampling not in ("transposed", "nearest"):
            raise InputError(
                f"upsampling is {self.upsampling!r}; expected 'transposed' or 'nearest'"
            )


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
    """Doubles the size by nearest neighbours and convolves 3x3: fewer checkerboards."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv2d = nn.Conv2d(inputs, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> [N, C', 2H, 2W]"""
        enlarged = functional.interpolate(x, scale_factor=2.0, mode="nearest")
        return self.conv2d(functional.pad(enlarged, (1, 1, 1, 1), mode="reflect"))


class Recolouring(nn.Module):
    """Gives a photograph about the painting's mean and covariance of colours.

    Each image's channels are normalised over the image and mapped linearly, by a map that isn't
    trained. Behind a network with instance norms, which take each image's brightness away,
    adding the photograph as it is would bring that back, and the Gram matrices of a white sky
    could never become a night's.
    """

    matrix: Tensor
    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("matrix", 0.25 * torch.eye(3))
        self.register_buffer("offset", torch.full((3,), 0.5))

    def forward(self, images: Tensor) -> Tensor:
        """[N, 3, H, W] in [0, 1] -> the same shape, mostly within [0, 1]; at least float32."""
        with torch.autocast(images.device.type, enabled=False):
            x = normalised_colours(images)
            # Written out: a matrix product of 3x3 may be rounded to TF32 on a GPU.
            matrix, offset = self.matrix.to(x), self.offset.to(x)
            terms = [x[:, i : i + 1] * matrix[:, i].view(3, 1, 1) for i in range(3)]
            return terms[0] + terms[1] + terms[2] + offset.view(3, 1, 1)

    @torch.no_grad()
    def start_from(self, painting: Tensor, photographs: Tensor) -> None:
        """Set the map that gives `photographs` [N, 3, H, W] the colours of `painting` [3, H, W].

        Its mean, and its covariance by C_p^(1/2) (C_x + SHADES)^(-1/2): photographs' channels are
        nearly equal, and without the summand their small differences would turn garish.
        """
        colours = painting.flatten(1).double()
        mean = colours.mean(1)
        of_painting = torch.cov(colours, correction=0)
        of_photographs = torch.cov(
            normalised_colours(photographs.double()).transpose(0, 1).flatten(1), correction=0
        )
        tamed = of_photographs + SHADES * torch.eye(3, dtype=torch.float64)
        matrix = _root(of_painting) @ torch.linalg.inv(_root(tamed))
        self.matrix.copy_(matrix)
        self.offset.copy_(mean)


def normalised_colours(images: Tensor) -> Tensor:
    """Each channel of each image [N, 3, H, W] with mean zero and standard deviation near one.

    A nearly uniform channel stays so: CALM is added to its variance.
    """
    images = images if images.dtype == torch.float64 else images.float()
    mean = images.mean((2, 3), keepdim=True)
    variance = images.var((2, 3), correction=0, keepdim=True)
    return (images - mean) * torch.rsqrt(variance + CALM)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside the identity; no ReLU after the sum (Gross and Wilber)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = ReflectedConvolution(channels, channels, 3)
        self.in1 = _norm(channels)
        self.conv2 = ReflectedConvolution(channels, channels, 3)
        self.in2 = _norm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> the same shape"""
        return x + self.in2(self.conv2(functional.relu(self.in1(self.conv1(x)))))


class TransformationNetwork(nn.Module):
    """The network of Johnson et al. 2016 with instance normalisation; any size of 16 or more."""

    def __init__(self, architecture: Architecture | None = None) -> None:
        super().__init__()
        self.architecture = architecture = architecture or Architecture()
        narrow = architecture.width
        middle, wide = 2 * narrow, 4 * narrow
        self.conv1, self.in1 = ReflectedConvolution(3, narrow, 9), _norm(narrow)
        self.conv2, self.in2 = ReflectedConvolution(narrow, middle, 3, 2), _norm(middle)
        self.conv3, self.in3 = ReflectedConvolution(middle, wide, 3, 2), _norm(wide)
        self._blocks = [f"res{number}" for number in range(1, architecture.residual_blocks + 1)]
        for name in self._blocks:
            self.add_module(name, ResidualBlock(wide))
        doubled: type[TransposedConvolution | NearestConvolution] = (
            TransposedConvolution if architecture.upsampling == "transposed" else NearestConvolution
        )
        self.deconv1, self.in4 = doubled(wide, middle), _norm(middle)
        self.deconv2, self.in5 = doubled(middle, narrow), _norm(narrow)
        self.deconv3 = ReflectedConvolution(narrow, 3, 9)
        self.recolouring = Recolouring() if architecture.identity_start else None
        if architecture.identity_start:
            nn.init.zeros_(self.deconv3.conv2d.weight)
            assert self.deconv3.conv2d.bias is not None
            nn.init.zeros_(self.deconv3.conv2d.bias)

    @property
    def blocks(self) -> list[ResidualBlock]:
        """The residual blocks, in order."""
        return [self.get_submodule(name) for name in self._blocks]  # type: ignore[misc]

    def forward(self, images: Tensor) -> Tensor:
        """Stylised images of the shape of `images`, [N, 3, H, W] in [0, 1]; not clamped.

        Sizes that aren't multiples of 4 are padded at the bottom and the right by reflection and
        cropped afterwards. Raises InputError for less than 16 pixels a side.
        """
        height, width = images.shape[-2:]
        if min(height, width) < SMALLEST:
            raise InputError(
                f"the image is {width}x{height} pixels; expected at least {SMALLEST} each way. "
                "Enlarge it first."
            )
        x = self.recoloured(images)
        down, right = -height % STRIDE, -width % STRIDE
        if down or right:
            x = functional.pad(x, (0, right, 0, down), mode="reflect")
        return self.transform(x)[..., :height, :width]

    def recoloured(self, images: Tensor) -> Tensor:
        """Where the network starts from, and what its content is compared with in training.

        The images themselves without `identity_start`: the photographs, as in Eq. 5.
        """
        return images if self.recolouring is None else self.recolouring(images)

    def transform(self, images: Tensor) -> Tensor:
        """`forward` behind the recolouring, for sizes that are multiples of 4."""
        x = functional.relu(self.in1(self.conv1(images * FULL)))
        x = functional.relu(self.in2(self.conv2(x)))
        x = functional.relu(self.in3(self.conv3(x)))
        for block in self.blocks:
            x = block(x)
        x = functional.relu(self.in4(self.deconv1(x)))
        x = functional.relu(self.in5(self.deconv2(x)))
        stylised = self.deconv3(x) / FULL
        return images + stylised if self.architecture.identity_start else stylised


def parameter_count(network: nn.Module) -> int:
    """Number of trainable parameters."""
    return sum(parameter.numel() for parameter in network.parameters())


def _root(covariance: Tensor) -> Tensor:
    """The symmetric square root of a covariance matrix, its least axis floored."""
    values, axes = torch.linalg.eigh(covariance)
    return axes @ torch.diag(values.clamp_min(1e-6).sqrt()) @ axes.mT


def _norm(channels: int) -> nn.InstanceNorm2d:
    return nn.InstanceNorm2d(channels, eps=1e-5, affine=True)
