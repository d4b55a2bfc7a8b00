"""Losses of the transformation network: Eq. 5 and 6 of the paper, and terms of ours.

Losses are scalars, means over the batch. Gram matrices are taken over positions (and, but for
"relative", channels), as Johnson et al. 2016 define them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.data.backbone import Backbone
from triptych.style.data.colours import Colours, colours_of, recoloured
from triptych.style.losses import Scaling, content_term, position_gram, style_term, total_variation
from triptych.style.network.regularity import BY_CHANCE, regular_share

TERMS = ("content", "style", "total_variation", "gamut", "tone", "regularity")

OVERSHOOT = 0.1
"""Share of what lies outside [0, 1] that the backbone still sees, so that its gradient lives."""

EVEN = 0.6
"""Share by which a photograph's lightnesses become as frequent as the painting's."""

PATCH = 16
"""Pixels a side of the squares whose mean colours are compared."""


@dataclass(frozen=True)
class LossSettings:
    """Layers and weights. Eq. 5 is summed over content layers, as Eq. 6 is over style layers.

    `scaling`: "equation" is Eq. 5 and 6; "mean" takes the mean over a Gram matrix's entries where
    Eq. 6 takes the sum, as pytorch/examples does (style weight 1e10, content 1e5); "relative"
    divides each layer's style term by the squared norm of the painting's Gram matrix and the
    content term by the variance of its target. With a `gamut_weight` the backbone sees images cut
    to [0, 1], and the mean square of what lies outside is a term. With a `tone_weight` so is the
    mean square by which the colours of patches differ from the photograph's in the painting's
    colours: deep layers alone tell a bright even sky from a dark one hardly at all. With a
    `regularity_weight` so is the mean share of detail in regular patterns (`regular_share`) beyond
    the photograph's own.
    """

    content_layers: Sequence[str]
    style_layers: Sequence[str]
    scaling: Scaling
    content_weight: float
    style_weight: float
    total_variation_weight: float
    gamut_weight: float = 0.0
    tone_weight: float = 0.0
    regularity_weight: float = 0.0


class PerceptualLoss:
    """The loss of stylised images under a fixed backbone and a fixed painting a style."""

    def __init__(
        self, backbone: Backbone, settings: LossSettings, paintings: Sequence[Tensor]
    ) -> None:
        """paintings: one [3, H, W] a style, in [0, 1], on the backbone's device, of any size."""
        self._backbone, self.settings, self.paintings = backbone, settings, paintings
        self._colours: Colours | None = None
        self._layers = list(dict.fromkeys((*settings.style_layers, *settings.content_layers)))
        with torch.no_grad():
            features = [backbone(painting[None], settings.style_layers) for painting in paintings]
            self._targets = {
                name: torch.cat([position_gram(of[name]) for of in features])
                for name in settings.style_layers
            }

    def terms(
        self, images: Tensor, stylised: Tensor, styles: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Weighted content, style, total variation; the others if they have a weight: scalars.

        images: what `stylised` [N, 3, H, W] has the content of. styles: the number of each image's
        style, [N]; the first of all if not given.
        """
        settings, of = self.settings, slice(1) if styles is None else styles
        with torch.no_grad():  # and no deeper than the content layers
            targets = self._backbone(images, settings.content_layers)
        terms = {}
        if settings.tone_weight:
            apart = stylised.float() - self._copies(images, styles)
            of_patches = functional.avg_pool2d(apart, PATCH).square().mean()
            terms["tone"] = settings.tone_weight * of_patches
        if settings.regularity_weight:
            own = regular_share(images) + BY_CHANCE
            beyond = functional.relu(regular_share(stylised) - own).mean()
            terms["regularity"] = settings.regularity_weight * beyond
        if settings.gamut_weight:
            inside = stylised.clamp(0, 1)
            outside = stylised - inside
            terms["gamut"] = settings.gamut_weight * outside.square().mean()
            stylised = inside + OVERSHOOT * outside
        features = self._backbone(stylised, self._layers)
        squared = partial(functional.mse_loss, reduction="none")
        kind: Literal["mean", "relative"] = "relative" if settings.scaling == "relative" else "mean"
        content = torch.stack(
            [content_term(features[name], targets[name], squared, kind) for name in targets]
        )
        style = torch.stack(
            [
                _style(position_gram(features[name]), self._targets[name][of], settings.scaling)
                for name in settings.style_layers
            ]
        ).sum()
        return {
            "content": settings.content_weight * content.mean(1).sum(),
            "style": settings.style_weight * style,
            "total_variation": settings.total_variation_weight * total_variation(stylised).mean(),
            **terms,
        }

    def copy_error(self, images: Tensor, stylised: Tensor, styles: Tensor | None) -> Tensor:
        """Mean square from the images in their paintings' colours; arguments as of `terms`."""
        return (stylised.float() - self._copies(images, styles)).square().mean()

    @torch.no_grad()
    def _copies(self, images: Tensor, styles: Tensor | None) -> Tensor:
        """The images in their paintings' colours."""
        if styles is None:
            styles = torch.zeros(len(images), dtype=torch.long, device=images.device)
        with torch.autocast(images.device.type, enabled=False):  # bf16 has 256 lightnesses
            if self._colours is None:
                self._colours = colours_of(self.paintings)
            return recoloured(images, self._colours[styles], EVEN)


def _style(grams: Tensor, targets: Tensor, scaling: Scaling) -> Tensor:
    """Mean over the batch of one layer's term; grams [N, C, C], targets as many or one for all."""
    if scaling == "equation":  # of Version 1, whose Eq. 3 divides by 4 C^2 where Eq. 6 has C^2
        return 4 * style_term(grams, targets, "equation").mean()
    return style_term(grams, targets, scaling).mean()
