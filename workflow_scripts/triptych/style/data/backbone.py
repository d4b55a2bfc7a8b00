"""Convolutional networks whose activations style and content are measured on."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.core.weights import differences, read_tensors, shapes, write_tensors
from triptych.style.data.architectures import ARCHITECTURES, Architecture, Convolution, Pooling

PoolingKind = Literal["max", "average"]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
"""Per channel, RGB in [0, 1]: what torchvision's weights were trained with."""

DEAD = 0.01
"""A filter with less than this share of its layer's mean activation counts as dead.

Divided by its own mean, a filter that hardly any photograph activates outweighs all others where a
painting does: with 1e-4 one filter made 98.7% of the loss of VGG-16 (hed).
"""


class Backbone(torch.nn.Module):
    """A network with frozen weights that returns the activations of the layers asked for.

    `weights` holds "conv1_1.weight" [out, in, k, k], "conv1_1.bias" [out] and so on; `mean` and
    `std` (RGB, images in [0, 1]) are subtracted and divided by first.
    """

    _mean: Tensor
    _std: Tensor

    def __init__(
        self,
        architecture: Architecture,
        weights: Mapping[str, Tensor],
        *,
        mean: Sequence[float],
        std: Sequence[float],
        pooling: PoolingKind,
    ) -> None:
        super().__init__()
        _check_shapes(architecture, weights, "the weights given")
        self.architecture = architecture
        self.pooling: PoolingKind = pooling
        self.mean, self.std = tuple(mean), tuple(std)
        # Buffers, not parameters: they move with the module and no optimiser finds them.
        dtype = next(iter(weights.values())).dtype
        self.register_buffer("_mean", torch.tensor(mean, dtype=dtype).view(3, 1, 1))
        self.register_buffer("_std", torch.tensor(std, dtype=dtype).view(3, 1, 1))
        for key in architecture.shapes():
            weight = weights[key].detach()
            layout = torch.channels_last if weight.ndim == 4 else torch.contiguous_format
            self.register_buffer(key.replace(".", "_"), weight.clone(memory_format=layout))

    @property
    def weights(self) -> dict[str, Tensor]:
        """Weights and biases by the keys of `Architecture.shapes`."""
        keys = self.architecture.shapes()
        return {key: self.get_buffer(key.replace(".", "_")).contiguous() for key in keys}

    def forward(self, images: Tensor, layers: Sequence[str]) -> dict[str, Tensor]:
        """Activations [N, C, H', W'] of `layers`, by name, of images [N, 3, H, W] in [0, 1].

        Computes as far as the deepest of them. Raises InputError for a name that there isn't.
        """
        requested = set(layers)
        if unknown := requested - set(self.architecture.layer_names):
            raise InputError(
                f"{self.architecture.name} has no layer {', '.join(sorted(unknown))}; "
                f"it has {', '.join(self.architecture.layer_names)}"
            )
        features: dict[str, Tensor] = {}
        for name, activation in self._walk(images) if requested else ():
            if name in requested:
                features[name] = activation
            if len(features) == len(requested):
                break
        return {name: features[name] for name in layers}

    def _walk(self, images: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Every layer's name and activation; lazily, so that a reader may stop early."""
        # Channels last in memory: a pooling takes a twentieth of its time on a processor.
        x = ((images - self._mean) / self._std).contiguous(memory_format=torch.channels_last)
        for layer in self.architecture.layers:
            if isinstance(layer, Pooling):
                pool = functional.max_pool2d if self.pooling == "max" else functional.avg_pool2d
                x = pool(x, layer.kernel, layer.stride)
            else:
                weight = self.get_buffer(f"{layer.name}_weight")
                bias = self.get_buffer(f"{layer.name}_bias")
                x = functional.conv2d(x, weight, bias, layer.stride, layer.padding)
                yield layer.name, x
                x = functional.relu(x)  # never in place: the caller holds what was yielded
                yield layer.relu, x


def normalised(backbone: Backbone, images: Iterable[Tensor]) -> Backbone:
    """`backbone` rescaled: each filter's mean activation after the ReLU is one over `images`.

    Gatys et al. 2016, section 2: the mean is over images and positions; `images` are batches
    [N, 3, H, W], of any sizes. Each filter is divided by its mean and the next layer's weights
    are multiplied by it, which both ReLU and pooling let through, so every activation is the
    former one over its filter's mean. Means are taken with the backbone's own pooling. A dead
    filter (see DEAD) is divided by the smallest mean that isn't dead, not blown up.
    """
    means = mean_activations(backbone, images)
    weights: dict[str, Tensor] = {}
    below: Tensor | None = None
    for name, layer in backbone.architecture.convolutions.items():
        mean = means[layer.relu]
        mean = mean.clamp_min(DEAD * mean.mean())
        mean = torch.where(mean > 0, mean, torch.ones_like(mean))  # a layer dead as a whole
        weight, bias = backbone.weights[f"{name}.weight"], backbone.weights[f"{name}.bias"]
        scaled = weight.double() / mean[:, None, None, None]
        if below is not None:
            scaled = scaled * below[None, :, None, None]
        weights[f"{name}.weight"] = scaled.to(weight.dtype)
        weights[f"{name}.bias"] = (bias.double() / mean).to(bias.dtype)
        below = mean
    rescaled = Backbone(
        backbone.architecture,
        weights,
        mean=backbone.mean,
        std=backbone.std,
        pooling=backbone.pooling,
    )
    return rescaled.to(next(backbone.buffers()).device)


@torch.no_grad()
def mean_activations(backbone: Backbone, images: Iterable[Tensor]) -> dict[str, Tensor]:
    """Mean of each filter after the ReLU over `images` and positions: [C] float64 a layer."""
    layers = [layer.relu for layer in backbone.architecture.convolutions.values()]
    sums: dict[str, Tensor] = {}
    counts = dict.fromkeys(layers, 0)
    for batch in images:
        for name, activation in backbone(batch, layers).items():
            total = activation.sum((0, 2, 3), dtype=torch.float64)
            sums[name] = sums[name] + total if name in sums else total
            counts[name] += activation.shape[0] * activation.shape[2] * activation.shape[3]
    if not sums:
        raise InputError("no images to measure mean activations on; expected at least one batch")
    return {name: sums[name] / counts[name] for name in layers}


def from_torchvision(state: Mapping[str, Tensor], architecture_name: str) -> dict[str, Tensor]:
    """Weights of `Backbone` from torchvision's vgg16, vgg19 or alexnet; drops the classifier.

    torchvision numbers convolutions, ReLUs and poolings alike: "features.0.weight" and so on.
    Raises InputError when `state` is of another network.
    """
    architecture = ARCHITECTURES[architecture_name]
    weights: dict[str, Tensor] = {}
    number = 0
    for layer in architecture.layers:
        if isinstance(layer, Convolution):
            for kind in ("weight", "bias"):
                key = f"features.{number}.{kind}"
                if key in state:
                    weights[f"{layer.name}.{kind}"] = state[key]
        number += 2 if isinstance(layer, Convolution) else 1
    _check_shapes(architecture, weights, "torchvision's state dict")
    return weights


def save_backbone(
    path: str | os.PathLike[str], backbone: Backbone, *, weights: str, origin: Mapping[str, Any]
) -> None:
    """Write `backbone` as safetensors; the same arguments give the same bytes.

    `weights` says what they learned from ("imagenet", "embedded"), `origin` how they were made.
    """
    record = {
        "architecture": backbone.architecture.name,
        "mean": backbone.mean,
        "std": backbone.std,
        "weights": weights,
        "origin": dict(origin),
    }
    tensors = {key: value.cpu() for key, value in backbone.weights.items()}
    write_tensors(path, tensors, "backbone", record)


def load_backbone(path: str | os.PathLike[str], *, pooling: PoolingKind) -> Backbone:
    """The backbone that `save_backbone` wrote. Raises InputError for any other file."""
    (architecture, mean, std), tensors = read_tensors(
        path,
        "backbone",
        lambda record: (ARCHITECTURES[record["architecture"]], record["mean"], record["std"]),
        "a backbone, such as those of resources/style (docs/dependencies.md)",
    )
    _check_shapes(architecture, tensors, str(path))
    return Backbone(architecture, tensors, mean=mean, std=std, pooling=pooling)


def _check_shapes(architecture: Architecture, weights: Mapping[str, Tensor], where: str) -> None:
    given, expected = shapes(weights), architecture.shapes()
    if wrong := differences({key: given[key] for key in given.keys() & expected}, expected):
        advice = f"Is this {architecture.name}? Delete the file to make or download it again."
        raise InputError(f"{where}: expected {len(expected)} tensors; {wrong}. {advice}")
