"""What Version 1 minimises: content, style and total variation of many images on one backbone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from triptych.core.device import precision_context
from triptych.style.backbones.backbone import Backbone
from triptych.style.losses import content_term, position_gram, style_term, total_variation
from triptych.style.optimisation.presets import Choices
from triptych.style.optimisation.styles import Part, Style, guided, parts_of

T = TypeVar("T")


@dataclass(frozen=True)
class Terms:
    """Weighted terms of each image, [N]; their sum is the total."""

    content: Tensor
    style: Tensor
    total_variation: Tensor

    @property
    def total(self) -> Tensor:
        """[N]."""
        return self.content + self.style + self.total_variation


class Objective:
    """Losses of N images against N contents [3, H, W] and N styles, of paintings of any size.

    What is given twice is measured once. Targets are computed here, without a graph; `terms`
    computes no further than the deepest layer that the choices name. Styles may differ in their
    paintings; regions and weights are the same for all.
    """

    def __init__(
        self,
        backbone: Backbone,
        choices: Choices,
        contents: Sequence[Tensor],
        styles: Sequence[Style],
    ) -> None:
        self._backbone, self._choices = backbone, choices
        self._device = contents[0].device
        content = []
        distinct, self._content_of = _distinct(contents)
        with torch.no_grad():
            for image in distinct:
                content.append(self._features(image[None])[choices.content_layer])
            kinds, self._style_of = _distinct(styles)
            parts = [parts_of(kind, self._features, choices.style_layers) for kind in kinds]
        self._contents = torch.cat(content)
        self._parts = [_stacked(each) for each in zip(*parts, strict=True)]
        self._select()

    def terms(self, images: Tensor, part: slice = slice(None)) -> Terms:
        """Weighted losses of [N, 3, H, W] in [0, 1], which belong to these of the contents."""
        choices = self._choices
        features = self._features(images)
        content = content_term(
            features[choices.content_layer],
            _part(self._content_targets, part),
            choices.content_loss,
            choices.scaling,
        )
        style = torch.zeros_like(content)
        for each, targets in zip(self._parts, self._style_targets, strict=True):
            for name, weight, target in zip(
                choices.style_layers, choices.layer_weights, targets, strict=True
            ):
                grams = position_gram(guided(features[name], each.region))
                term = style_term(grams, _part(target, part), choices.scaling)
                style = style + each.weight * weight * term
        variation = torch.zeros_like(content)
        if choices.total_variation_weight:
            variation = choices.total_variation_weight * total_variation(images)
        return Terms(choices.content_weight * content, choices.style_weight * style, variation)

    def evaluated(
        self, rows: Tensor, shape: torch.Size, size: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Images as rows [N, n] of `shape` [3, H, W], `size` at a time.

        [5, N]: content, style, total variation, total, and the gradient's largest size; [N] and
        [N, n]: what is minimised, and its gradients.
        """
        parts = [slice(first, first + size) for first in range(0, len(rows), size)]
        found = [self._evaluated(rows[part], shape, part) for part in parts]
        if len(found) == 1:
            return found[0]
        values, losses, gradients = zip(*found, strict=True)
        return torch.cat(values, 1), torch.cat(losses), torch.cat(gradients)

    def _evaluated(
        self, rows: Tensor, shape: torch.Size, part: slice
    ) -> tuple[Tensor, Tensor, Tensor]:
        images = rows.view(-1, *shape).detach().requires_grad_()
        terms = self.terms(images, part)
        losses = terms.total * (rows.shape[1] if self._choices.by_pixels else 1)
        gradients = torch.autograd.grad(losses.sum(), images)[0].flatten(1)
        each = (terms.content, terms.style, terms.total_variation, terms.total)
        values = torch.stack([*(term.detach() for term in each), gradients.abs().amax(1)])
        return values, losses.detach(), gradients

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these of the images only."""
        self._content_of = [self._content_of[row] for row in rows]
        self._style_of = [self._style_of[row] for row in rows]
        self._select()

    def _features(self, images: Tensor) -> dict[str, Tensor]:
        with precision_context(self._device, self._choices.precision):
            return self._backbone(images, self._choices.layers)

    def _select(self) -> None:
        self._content_targets = _rows(self._contents, self._content_of)
        self._style_targets = [
            [_rows(grams, self._style_of) for grams in each.targets] for each in self._parts
        ]


def _stacked(parts: Sequence[Part]) -> Part:
    """One part of all styles: targets [styles, C, C] by layer."""
    targets = [torch.stack(grams) for grams in zip(*(each.targets for each in parts), strict=True)]
    return Part(parts[0].region, parts[0].weight, targets)


def _distinct(images: Sequence[T]) -> tuple[list[T], list[int]]:
    """The images or styles without repetition, and each one's place among them."""
    distinct: list[T] = []
    places = []
    for image in images:
        for place, known in enumerate(distinct):
            if known is image or _equal(known, image):
                places.append(place)
                break
        else:
            places.append(len(distinct))
            distinct.append(image)
    return distinct, places


def _equal(one: object, other: object) -> bool:
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return False
    return one.shape == other.shape and torch.equal(one, other)


def _part(targets: Tensor, part: slice) -> Tensor:
    """Some of N targets; or the one that all images share."""
    return targets if len(targets) == 1 else targets[part]


def _rows(values: Tensor, rows: Sequence[int]) -> Tensor:
    """`values[rows]`, but [1, ...] when all rows are one: it is spread where it's used."""
    if len(set(rows)) == 1:
        return values[rows[0]][None]
    return values[torch.tensor(list(rows), device=values.device)]
