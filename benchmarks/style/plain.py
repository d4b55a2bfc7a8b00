"""The network, its losses and Version 1's closure as one would write them first.

What the bench compares with, as it is and by what one tries next: compiled, and in bf16. Written
after the PyTorch example implementation of Johnson et al. (github.com/pytorch/examples,
fast_neural_style) and PyTorch's tutorial of Gatys et al., on torchvision's own networks, and used
for nothing else.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VGG16_STYLE = (3, 8, 15, 22)
"""torchvision's features after relu1_2, relu2_2, relu3_3 and relu4_3 of VGG16."""
VGG16_CONTENT = 8
VGG19_STYLE = (1, 6, 11, 20, 29)
"""After relu1_1, relu2_1, relu3_1, relu4_1 and relu5_1 of VGG19."""
VGG19_CONTENT = 22
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class PlainConvolution(nn.Module):
    """Reflection padding and a convolution; `upsample` doubles the size first."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, upsample: int = 1):
        super().__init__()
        self.upsample, self.padding = upsample, kernel // 2
        self.conv2d = nn.Conv2d(inputs, outputs, kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[N, inputs, H, W] -> [N, outputs, H·upsample/stride, W·upsample/stride]."""
        if self.upsample > 1:
            x = F.interpolate(x, scale_factor=self.upsample, mode="nearest")
        return self.conv2d(F.pad(x, [self.padding] * 4, mode="reflect"))


class PlainNorm(nn.Module):
    """Instance normalisation; of several styles (Dumoulin et al. 2017) with weights for each."""

    def __init__(self, channels: int, styles: int):
        super().__init__()
        shape = (channels,) if styles == 1 else (styles, channels)
        self.weight, self.bias = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))

    def forward(self, x: Tensor, styles: Tensor | None) -> Tensor:
        """[N, C, H, W] -> the same; styles: each image's number [N], where there are several."""
        if styles is None:
            return F.instance_norm(x, weight=self.weight, bias=self.bias)
        scale, shift = self.weight[styles][:, :, None, None], self.bias[styles][:, :, None, None]
        return F.instance_norm(x) * scale + shift


class PlainBlock(nn.Module):
    """A residual block: two convolutions with instance norms (Johnson et al. 2016)."""

    def __init__(self, channels: int, styles: int):
        super().__init__()
        self.conv1 = PlainConvolution(channels, channels, 3, 1)
        self.in1 = PlainNorm(channels, styles)
        self.conv2 = PlainConvolution(channels, channels, 3, 1)
        self.in2 = PlainNorm(channels, styles)

    def forward(self, x: Tensor, styles: Tensor | None) -> Tensor:
        """[N, C, H, W] -> the same."""
        y = F.relu(self.in1(self.conv1(x), styles))
        return x + self.in2(self.conv2(y), styles)


class PlainNetwork(nn.Module):
    """The transformation network, nearest up-sampling, images in and out in [0, 255]."""

    def __init__(self, width: int, styles: int = 1):
        super().__init__()
        w = width
        self.conv1, self.in1 = PlainConvolution(3, w, 9, 1), PlainNorm(w, styles)
        self.conv2, self.in2 = PlainConvolution(w, 2 * w, 3, 2), PlainNorm(2 * w, styles)
        self.conv3, self.in3 = PlainConvolution(2 * w, 4 * w, 3, 2), PlainNorm(4 * w, styles)
        for number in range(1, 6):
            setattr(self, f"res{number}", PlainBlock(4 * w, styles))
        self.deconv1, self.in4 = PlainConvolution(4 * w, 2 * w, 3, 1, 2), PlainNorm(2 * w, styles)
        self.deconv2, self.in5 = PlainConvolution(2 * w, w, 3, 1, 2), PlainNorm(w, styles)
        self.deconv3 = PlainConvolution(w, 3, 9, 1)

    def forward(self, x: Tensor, styles: Tensor | None = None) -> Tensor:
        """[N, 3, H, W] -> the same where H and W are multiples of 4.

        styles: the number of each image's style, [N], where there are several.
        """
        y = F.relu(self.in1(self.conv1(x), styles))
        y = F.relu(self.in2(self.conv2(y), styles))
        y = F.relu(self.in3(self.conv3(y), styles))
        for number in range(1, 6):
            y = getattr(self, f"res{number}")(y, styles)
        y = F.relu(self.in4(self.deconv1(y), styles))
        y = F.relu(self.in5(self.deconv2(y), styles))
        return self.deconv3(y)


def gram(features: Tensor) -> Tensor:
    """Gram matrices [N, C, C] divided by C·H·W, of features [N, C, H, W]."""
    n, c, h, w = features.shape
    flat = features.view(n, c, h * w)
    return flat.bmm(flat.transpose(1, 2)) / (c * h * w)


def standardised(images: Tensor) -> Tensor:
    """Images [N, 3, H, W] in [0, 1], by ImageNet's mean and deviation."""
    mean, deviation = (
        torch.tensor(v, device=images.device).view(1, 3, 1, 1) for v in (MEAN, DEVIATION)
    )
    return (images - mean) / deviation


def features_at(layers: nn.Sequential, images: Tensor, indices: Sequence[int]) -> list[Tensor]:
    """What comes out of the layers at `indices`, in that order; stops behind the last."""
    found, x = {}, images
    for index, layer in enumerate(layers[: max(indices) + 1]):
        x = layer(x)
        if index in indices:
            found[index] = x
    return [found[index] for index in indices]


def training_loss(
    network: nn.Module,
    vgg16: nn.Sequential,
    targets: Sequence[Tensor],
    images: Tensor,
) -> Tensor:
    """Johnson's loss of images [N, 3, H, W] in [0, 255]; targets: a Gram matrix a layer."""
    stylised = network(images)
    of_stylised = features_at(vgg16, standardised(stylised / 255), VGG16_STYLE)
    of_images = features_at(vgg16, standardised(images / 255), VGG16_STYLE)
    content = VGG16_STYLE.index(VGG16_CONTENT)
    loss = 1e5 * F.mse_loss(of_stylised[content], of_images[content])
    for features, target in zip(of_stylised, targets, strict=True):
        loss = loss + 1e10 * F.mse_loss(gram(features), target.expand(len(images), -1, -1))
    return loss


def closure_loss(
    vgg19: nn.Sequential, image: Tensor, content_target: Tensor, targets: Sequence[Tensor]
) -> Tensor:
    """Version 1's loss of one image [1, 3, H, W] in [0, 1]."""
    *style, content = features_at(vgg19, standardised(image), (*VGG19_STYLE, VGG19_CONTENT))
    loss = F.mse_loss(content, content_target)
    for features, target in zip(style, targets, strict=True):
        loss = loss + 1e6 * F.mse_loss(gram(features), target)
    return loss
