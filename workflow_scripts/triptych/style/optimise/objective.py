"""What Version 1 minimises: content, style and total variation of many images on one backbone."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from triptych.core.device import precision_context
from triptych.style.data.backbone import Backbone
from triptych.style.optimise.losses import (
    content_deviation,
    content_sum,
    gram_matrix,
    scaled_content,
    style_term,
    variation_sum,
)
from triptych.style.optimise.presets import Choices
from triptych.style.optimise.styles import Style, guide, style_targets
from triptych.style.optimise.tiles import PIXELS, Tile, Tiling, tiling

Sums = dict[str, Tensor]
"""What losses are functions of, by name: [N, ...]. Gram matrices bear their layer's name."""


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

    With `side` images are worked in tiles of that many pixels (`tiles.py`): the same losses and
    gradients, but for rounding, in the memory of one tile.
    """

    def __init__(
        self,
        backbone: Backbone,
        choices: Choices,
        contents: Sequence[Tensor],
        styles: Sequence[Style],
        side: int | None = None,
    ) -> None:
        self._backbone, self._choices = backbone, choices
        self._device, self._side = contents[0].device, side
        self._shape = (*contents[0].shape[-2:],)
        self._tiling = self._cut(contents[0])
        with torch.no_grad():
            self._contents = torch.cat([self._content_target(image[None]) for image in contents])
            targets = [style_targets(style, self._painting_grams) for style in styles]
        self._style_targets = [torch.stack(grams) for grams in zip(*targets, strict=True)]
        relative = choices.scaling == "relative"
        self._deviations = content_deviation(self._contents) if relative else None

    def terms(self, images: Tensor, part: slice = slice(None)) -> Terms:
        """Weighted losses of [N, 3, H, W] in [0, 1], which belong to these of the contents."""
        tiles = self._tiling.tiles
        return self._weighted(
            _total(self._sums(tile.read(images), tile, part) for tile in tiles), part
        )

    def _sums(self, piece: Tensor, tile: Tile, part: slice) -> Sums:
        """All that losses need of images, [N, ...] by name: each a sum over positions, here those
        of one tile, of which `piece` is what the network has to read."""
        choices = self._choices
        features = self._features(piece)
        sums = self._grams(features, tile, self._tiling, {})
        name = choices.content_layer
        sums["content"] = content_sum(
            tile.counted(features[name], name),
            tile.owned(self._contents[part], name),
            choices.content_loss,
            None if self._deviations is None else self._deviations[part],
        )
        if choices.total_variation_weight:
            rows, columns = tile.rows.within[PIXELS], tile.columns.within[PIXELS]
            sums["total_variation"] = variation_sum(
                piece[..., rows, columns.start : columns.stop + 1],
                piece[..., rows.start : rows.stop + 1, columns],
                *self._shape,
            )
        return sums

    def _weighted(self, sums: Sums, part: slice) -> Terms:
        """The losses of whole images' sums."""
        choices = self._choices
        numbers = self._contents[0].numel()
        content = scaled_content(sums["content"], numbers, choices.content_loss, choices.scaling)
        style = torch.zeros_like(content)
        for name, weight, target in zip(
            choices.style_layers, choices.layer_weights, self._style_targets, strict=True
        ):
            style = style + weight * style_term(sums[name], target[part], choices.scaling)
        variation = torch.zeros_like(content)
        if choices.total_variation_weight:
            variation = choices.total_variation_weight * sums["total_variation"]
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
        images = rows.view(-1, *shape).detach()
        factor = rows.shape[1] if self._choices.by_pixels else 1
        differentiated = self._at_once if len(self._tiling.tiles) == 1 else self._tile_by_tile
        terms, gradients = differentiated(images, part, factor)
        gradients = gradients.flatten(1)
        each = (terms.content, terms.style, terms.total_variation, terms.total)
        values = torch.stack([*(term.detach() for term in each), gradients.abs().amax(1)])
        values = values.to(rows.dtype)
        return values, values[3] * factor, gradients

    def _at_once(self, images: Tensor, part: slice, factor: float) -> tuple[Terms, Tensor]:
        """The losses and the gradients of `factor` times their total."""
        images = images.requires_grad_()
        terms = self.terms(images, part)
        return terms, torch.autograd.grad(factor * terms.total.sum(), images)[0]

    def _tile_by_tile(self, images: Tensor, part: slice, factor: float) -> tuple[Terms, Tensor]:
        """What `_at_once` gives, by a graph of one tile at a time: first the sums of all tiles, of
        which the losses are functions; then each tile's part of the sums again, with gradients."""
        tiles = self._tiling.tiles
        with torch.no_grad():
            sums = _total(self._sums(tile.read(images), tile, part) for tile in tiles)
        leaves = [value.requires_grad_() for value in sums.values()]
        terms = self._weighted(sums, part)
        slopes = torch.autograd.grad(factor * terms.total.sum(), leaves)
        gradients = torch.zeros_like(images)
        for tile in tiles:
            piece = tile.read(images).detach().requires_grad_()
            own = list(self._sums(piece, tile, part).values())
            by_sums = [slope.to(value.dtype) for slope, value in zip(slopes, own, strict=True)]
            tile.read(gradients).add_(torch.autograd.grad(own, piece, by_sums)[0])
        return terms, gradients

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these of the images only."""
        kept = list(rows)
        self._contents = self._contents[kept]
        self._style_targets = [grams[kept] for grams in self._style_targets]
        if self._deviations is not None:
            self._deviations = self._deviations[kept]

    def _cut(self, image: Tensor) -> Tiling:
        height, width = image.shape[-2:]
        layers = self._choices.layers
        return tiling(self._backbone.architecture, layers, height, width, self._side)

    def _content_target(self, image: Tensor) -> Tensor:
        """The content layer of [1, 3, H, W], whole."""
        name = self._choices.content_layer
        whole: Tensor | None = None
        for tile in self._tiling.tiles:
            features = self._features(tile.read(image))[name]
            if whole is None:
                whole = features.new_empty(*features.shape[:2], *self._tiling.shapes[name])
            tile.owned(whole, name)[:] = tile.counted(features, name)
        assert whole is not None
        return whole

    def _painting_grams(self, painting: Tensor, mask: Tensor | None) -> list[Tensor]:
        """Gram matrices [C, C] over the positions of [1, 3, h, w], one a style layer."""
        cut = self._cut(painting)
        names = () if mask is None else self._choices.style_layers
        guides = {name: guide(mask, cut.shapes[name]) for name in names if mask is not None}
        grams = _total(
            self._grams(self._features(tile.read(painting)), tile, cut, guides)
            for tile in cut.tiles
        )
        return [grams[name][0].to(painting.dtype) for name in self._choices.style_layers]

    def _grams(
        self, features: dict[str, Tensor], tile: Tile, cut: Tiling, guides: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """A tile's part of the Gram matrices over all positions; guides: by layer, of a mask."""
        grams = {}
        for name in self._choices.style_layers:
            own = tile.counted(features[name], name)
            if name in guides:
                own = own * tile.owned(guides[name], name)
            grams[name] = gram_matrix(own) / math.prod(cut.shapes[name])
        return grams

    def _features(self, images: Tensor) -> dict[str, Tensor]:
        with precision_context(self._device, self._choices.precision):
            return self._backbone(images, self._choices.layers)


def _total(parts: Iterable[Sums]) -> Sums:
    """The sum of tiles' parts; in float64 where there are several."""
    tiles = iter(parts)
    total = next(tiles)
    for part in tiles:
        total = {name: total[name].double() + value.double() for name, value in part.items()}
    return total
