"""Loss of Version 1: content, style and total variation of many images on one backbone."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from triptych.core.device import precision_context
from triptych.style.data.backbone import Backbone
from triptych.style.losses import content_term, total_variation
from triptych.style.optimise.choices import Choices, load


@dataclass(frozen=True)
class Terms:
    """Weighted terms of each image, [N]; their sum is the total."""

    content: Tensor
    style: Tensor
    total_variation: Tensor

    @property
    def total(self) -> Tensor:
        """Sum of the three terms, [N]."""
        return self.content + self.style + self.total_variation


class Objective:
    """Losses of N images against N contents [3, H, W] and N paintings [3, h, w] of any size."""

    def __init__(
        self,
        backbone: Backbone,
        choices: Choices,
        contents: Sequence[Tensor],
        paintings: Sequence[Tensor],
    ) -> None:
        self._backbone, self._choices = backbone, choices
        self._device = contents[0].device
        self._content_loss = load("content_losses", choices.content_loss)
        self._style_loss = load("style_losses", choices.style_loss)
        with torch.no_grad():
            self._contents = torch.cat([self._content_target(image[None]) for image in contents])
            targets = [self._painting_statistics(image[None]) for image in paintings]
        self._style_targets = [torch.stack(layer) for layer in zip(*targets, strict=True)]

    def terms(self, images: Tensor, part: slice = slice(None)) -> Terms:
        """Weighted losses of [N, 3, H, W] in [0, 1], which belong to these of the contents."""
        choices = self._choices
        features = self._features(images)
        content = content_term(
            features[choices.content_layer],
            self._contents[part],
            self._content_loss.differences,
            choices.scaling,
            getattr(self._content_loss, "EQUATION_FACTOR", 1.0),
        )
        style = torch.zeros_like(content)
        for name, weight, target in zip(
            choices.style_layers, choices.layer_weights, self._style_targets, strict=True
        ):
            statistics = self._style_loss.statistics(features[name])
            distance = self._style_loss.distance(statistics, target[part], choices.scaling)
            style = style + weight * distance
        variation = torch.zeros_like(content)
        if choices.total_variation_weight:
            # The order of a sum of gradients decides its last bit.
            views = images.view_as(images), images.view_as(images)
            variation = choices.total_variation_weight * total_variation(*views)
        return Terms(choices.content_weight * content, choices.style_weight * style, variation)

    def evaluated(
        self, rows: Tensor, shape: torch.Size, size: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluate images as rows [N, n] of `shape` [3, H, W], `size` at a time.

        Returns [5, N]: content, style, total variation, total, and the gradient's largest size;
        and [N] and [N, n]: what is minimised, and its gradients.
        """
        parts = [slice(first, first + size) for first in range(0, len(rows), size)]
        evaluated = [self._evaluated(rows[part], shape, part) for part in parts]
        if len(evaluated) == 1:
            return evaluated[0]
        values, losses, gradients = zip(*evaluated, strict=True)
        return torch.cat(values, 1), torch.cat(losses), torch.cat(gradients)

    def _evaluated(
        self, rows: Tensor, shape: torch.Size, part: slice
    ) -> tuple[Tensor, Tensor, Tensor]:
        images = rows.view(-1, *shape).detach().requires_grad_()
        factor = rows.shape[1] if self._choices.by_pixels else 1
        terms = self.terms(images, part)
        gradients = torch.autograd.grad(factor * terms.total.sum(), images)[0].flatten(1)
        losses = (terms.content, terms.style, terms.total_variation, terms.total)
        values = torch.stack([*(loss.detach() for loss in losses), gradients.abs().amax(1)])
        values = values.to(rows.dtype)
        return values, values[3] * factor, gradients

    def keep(self, rows: Sequence[int]) -> None:
        remaining = list(rows)
        self._contents = self._contents[remaining]
        self._style_targets = [targets[remaining] for targets in self._style_targets]

    def _content_target(self, image: Tensor) -> Tensor:
        return self._features(image)[self._choices.content_layer].contiguous()

    def _painting_statistics(self, painting: Tensor) -> list[Tensor]:
        """Statistics [...] of a painting [1, 3, h, w], one a style layer."""
        features = self._features(painting)
        layers = (features[name] for name in self._choices.style_layers)
        return [self._style_loss.statistics(layer)[0].to(painting.dtype) for layer in layers]

    def _features(self, images: Tensor) -> dict[str, Tensor]:
        with precision_context(self._device, self._choices.precision):
            return self._backbone(images, self._choices.layers)
