"""The network, its losses and Version 1's closure as one would write them first: eager float32.

What the bench compares with. Written after the PyTorch example implementation of Johnson et al.
(github.com/pytorch/examples, fast_neural_style) and PyTorch's tutorial of Gatys et al., on
torchvision's own networks, and used for nothing else.
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


class PlainBlock(nn.Module):
    """A residual block: two convolutions with instance norms (Johnson et al. 2016)."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv1 = PlainConvolution(channels, channels, 3, 1)
        self.in1 = nn.InstanceNorm2d(channels, affine=True)
        self.conv2 = PlainConvolution(channels, channels, 3, 1)
        self.in2 = nn.InstanceNorm2d(channels, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> the same."""
        return x + self.in2(self.conv2(F.relu(self.in1(self.conv1(x)))))


class PlainNetwork(nn.Module):
    """The transformation network, nearest up-sampling, images in and out in [0, 255]."""

    def __init__(self, width: int):
        super().__init__()
        w = width
        self.conv1, self.in1 = PlainConvolution(3, w, 9, 1), nn.InstanceNorm2d(w, affine=True)
        self.conv2, self.in2 = (
            PlainConvolution(w, 2 * w, 3, 2),
            nn.InstanceNorm2d(2 * w, affine=True),
        )
        self.conv3, self.in3 = (
            PlainConvolution(2 * w, 4 * w, 3, 2),
            nn.InstanceNorm2d(4 * w, affine=True),
        )
        for number in range(1, 6):
            setattr(self, f"res{number}", PlainBlock(4 * w))
        self.deconv1 = PlainConvolution(4 * w, 2 * w, 3, 1, 2)
        self.in4 = nn.InstanceNorm2d(2 * w, affine=True)
        self.deconv2 = PlainConvolution(2 * w, w, 3, 1, 2)
        self.in5 = nn.InstanceNorm2d(w, affine=True)
        self.deconv3 = PlainConvolution(w, 3, 9, 1)

    def forward(self, x: Tensor) -> Tensor:
        """[N, 3, H, W] -> the same where H and W are multiples of 4."""
        y = F.relu(self.in1(self.conv1(x)))
        y = F.relu(self.in2(self.conv2(y)))
        y = F.relu(self.in3(self.conv3(y)))
        for number in range(1, 6):
            y = getattr(self, f"res{number}")(y)
        y = F.relu(self.in4(self.deconv1(y)))
        y = F.relu(self.in5(self.deconv2(y)))
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


def train_step(
    network: nn.Module,
    vgg16: nn.Sequential,
    targets: Sequence[Tensor],
    optimizer: torch.optim.Optimizer,
    images: Tensor,
) -> None:
    """One batch of Johnson's training: images [N, 3, H, W] in [0, 255]."""
    optimizer.zero_grad()
    stylised = network(images)
    of_stylised = features_at(vgg16, standardised(stylised / 255), VGG16_STYLE)
    of_images = features_at(vgg16, standardised(images / 255), VGG16_STYLE)
    content = VGG16_STYLE.index(VGG16_CONTENT)
    loss = 1e5 * F.mse_loss(of_stylised[content], of_images[content])
    for features, target in zip(of_stylised, targets, strict=True):
        loss = loss + 1e10 * F.mse_loss(gram(features), target.expand(len(images), -1, -1))
    loss.backward()
    optimizer.step()


def closure_loss(
    vgg19: nn.Sequential, image: Tensor, content_target: Tensor, targets: Sequence[Tensor]
) -> Tensor:
    """Version 1's loss of one image [1, 3, H, W] in [0, 1]."""
    *style, content = features_at(vgg19, standardised(image), (*VGG19_STYLE, VGG19_CONTENT))
    loss = F.mse_loss(content, content_target)
    for features, target in zip(style, targets, strict=True):
        loss = loss + 1e6 * F.mse_loss(gram(features), target)
    return loss
