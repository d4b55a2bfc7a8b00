"""What the transformation network is trained on: Eq. 5 and 6 of the paper, and two terms more.

Losses are scalars, means over the batch. Gram matrices are taken over positions (and, but for
"relative", channels), as Johnson et al. 2016 define them: the painting and the training images
have different sizes, which Eq. 4 by itself doesn't allow for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from triptych.style.data.backbone import Backbone
from triptych.style.data.colours import recoloured, scale_of
from triptych.style.optimise.losses import content_term, position_gram, style_term, total_variation
from triptych.style.optimise.presets import Scaling

TERMS = ("content", "style", "total_variation", "temporal", "gamut")

OVERSHOOT = 0.1
"""Share of what lies outside [0, 1] that the backbone still sees, so that its gradient lives."""


@dataclass(frozen=True)
class LossSettings:
    """Layers and weights.

    Eq. 5 is summed over the content layers, as Eq. 6 is over the style layers.
    `scaling`: "equation" is Eq. 5 and 6; "mean" takes the mean over a Gram matrix's entries where
    Eq. 6 takes the sum, as pytorch/examples does (style weight 1e10, content 1e5); "relative"
    divides each layer's style term by the squared norm of the painting's Gram matrix and the
    content term by the variance of its target, so that weights carry over between backbones.
    `shift` (pixels) and `noise` (standard deviation, images in [0, 1]) disturb the images of the
    temporal term. With a `gamut_weight` the backbone sees images cut to [0, 1], as people do, and
    the mean square of what lies outside is a term: without it a short training with large rates
    paints in colours that no file can hold.
    """

    content_layers: tuple[str, ...]
    style_layers: tuple[str, ...]
    scaling: Scaling
    content_weight: float
    style_weight: float
    total_variation_weight: float
    gamut_weight: float = 0.0
    temporal_weight: float = 0.0
    shift: int = 4
    noise: float = 0.02

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "LossSettings":
        """From a configuration's table, where the layers are lists."""
        layers = {name: tuple(table[name]) for name in ("content_layers", "style_layers")}
        return cls(**{**table, **layers})


@dataclass(frozen=True)
class Disturbance:
    """A shift in pixels, and normal noise [N, 3, h, w] on what is seen after it."""

    down: int
    right: int
    noise: Tensor

    def of(self, part: slice) -> "Disturbance":
        """The disturbance of some of the images."""
        return Disturbance(self.down, self.right, self.noise[part])


class PerceptualLoss:
    """The loss of stylised images under a fixed backbone and a fixed painting a style."""

    def __init__(
        self, backbone: Backbone, settings: LossSettings, paintings: Sequence[Tensor]
    ) -> None:
        """paintings: one [3, H, W] a style, in [0, 1], on the backbone's device, of any size."""
        self._backbone, self.settings, self.paintings = backbone, settings, paintings
        self._scales: list[Tensor] = []
        self._layers = list(dict.fromkeys((*settings.style_layers, *settings.content_layers)))
        with torch.no_grad():
            features = [backbone(each[None], settings.style_layers) for each in paintings]
            self._targets = {
                name: torch.cat([position_gram(of[name]) for of in features])
                for name in settings.style_layers
            }

    def terms(
        self, images: Tensor, stylised: Tensor, styles: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Weighted content, style and total variation, scalars, of `stylised` [N, 3, H, W].

        And "gamut" where that has a weight. images: what `stylised` has the content of. styles:
        the number of each image's style, [N]; the first of all if not given.
        """
        settings, of = self.settings, slice(1) if styles is None else styles
        with torch.no_grad():  # and no deeper than the content layers
            targets = self._backbone(images, settings.content_layers)
        terms = {}
        if settings.gamut_weight:
            inside = stylised.clamp(0, 1)
            outside = stylised - inside
            terms["gamut"] = settings.gamut_weight * outside.square().mean()
            stylised = inside + OVERSHOOT * outside
        features = self._backbone(stylised, self._layers)
        kind: Literal["mean", "relative"] = "relative" if settings.scaling == "relative" else "mean"
        content = torch.stack(
            [content_term(features[name], targets[name], "mse", kind) for name in targets]
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
        if not self._scales:
            self._scales = [scale_of(each) for each in self.paintings]
        numbers = [0] * len(images) if styles is None else styles.tolist()
        with torch.no_grad():
            pairs = zip(images, numbers, strict=True)
            copies = torch.stack([recoloured(image, self._scales[n]) for image, n in pairs])
        return (stylised.float() - copies).square().mean()

    def disturbance(self, images: Tensor, generator: torch.Generator) -> Disturbance:
        """What the temporal term does to images [N, 3, H, W]; drawn on the generator's device."""
        shift = self.settings.shift
        down, right = torch.randint(-shift, shift + 1, (2,), generator=generator).tolist()
        shape = overlap(images, down, right).shape
        return Disturbance(down, right, torch.randn(shape, generator=generator))

    def temporal(
        self,
        network: Callable[[Tensor], Tensor],
        images: Tensor,
        stylised: Tensor,
        disturbance: Disturbance,
    ) -> Tensor:
        """Weighted mean square by which a small disturbance changes the stylisation, a scalar.

        The images are moved by up to `shift` pixels each way and noise is added; the stylised
        version should be the same, moved likewise. That is the noise-stability loss of
        chainer-fast-neuralstyle's pull request 90, with the shift that a camera makes: by odd
        numbers of pixels, which the network's strides do not carry over.
        """
        settings, down, right = self.settings, disturbance.down, disturbance.right
        seen = overlap(images, down, right)
        disturbed = network(seen + settings.noise * disturbance.noise.to(seen.device))
        difference = disturbed - overlap(stylised, down, right)
        return settings.temporal_weight * difference.float().square().mean()


def overlap(images: Tensor, down: int, right: int) -> Tensor:
    """What a camera that moved `down` and `right` pixels still sees of images [N, 3, H, W]."""
    height, width = images.shape[-2:]
    return images[
        ...,
        max(0, down) : height + min(0, down),
        max(0, right) : width + min(0, right),
    ]


def _style(grams: Tensor, targets: Tensor, scaling: Scaling) -> Tensor:
    """Mean over the batch of one layer's term; grams [N, C, C], targets as many or one for all."""
    if scaling == "equation":  # of Version 1, whose Eq. 3 divides by 4 C^2 where Eq. 6 has C^2
        return 4 * style_term(grams, targets, "equation").mean()
    return style_term(grams, targets, scaling).mean()
