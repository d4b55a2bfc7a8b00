"""Paintings and masks of `triptych stylize --optimize`."""

import argparse
from pathlib import Path

from torch import Tensor

from triptych.apps.pictures.catalogue import CHECKOUT
from triptych.apps.pictures.optimising_options import shipped_paintings
from triptych.core.errors import InputError
from triptych.style.data.image_files import luma, shape_along
from triptych.style.data.images import read_image, resize_to
from triptych.style.network.mixtures import weighted
from triptych.style.optimise.styles import Painting

NETWORKS = {".safetensors", ".pth", ".pt", ".model"}
"""Suffixes of networks' files."""


def paintings(options: argparse.Namespace) -> list[Painting]:
    """The paintings of `--style`, with their weights and masks.

    Raises InputError for what is no painting, weight or mask, or for masks that don't fit.
    """
    style = options.style
    weights = [(style, 1.0)] if Path(style).is_file() else weighted(style)
    masks = options.style_masks or [None] * len(weights)
    if len(masks) != len(weights):
        raise InputError(
            f"--style-masks {'+'.join(masks)}: {len(masks)} for {len(weights)} paintings "
            f"({', '.join(name for name, _ in weights)}); expected one for each, in their order, "
            "joined by +"
        )
    result = []
    for (name, weight), mask in zip(weights, masks, strict=True):
        if weight is None:
            raise InputError(
                f"--style {style}: {name} has no weight above 0; expected such as {name}:2"
            )
        image = _painting(name)
        result.append(Painting(image, weight, None if mask is None else _mask(mask, image)))
    return result


def _painting(name: str) -> Tensor:
    """The painting of a file, or the one of that name which the repository ships."""
    if not Path(name).is_file():
        shipped = shipped_paintings(CHECKOUT)
        if name not in shipped:
            raise InputError(
                f"{name} is no file; with --optimize give a painting's, or {', '.join(shipped)}"
            )
        return read_image(shipped[name])
    if Path(name).suffix.lower() in NETWORKS:
        raise InputError(
            f"{name} is a network, where a painting is expected: leave --optimize out to use it"
        )
    return read_image(name)


def _mask(name: str, painting: Tensor) -> Tensor:
    """A file's lightness as a mask [1, H, W], at the size of its painting [3, H, W]."""
    mask = luma(read_image(name))[None].clamp_(0, 1)
    (rows, columns), (height, width) = mask.shape[1:], painting.shape[1:]
    if float(mask.max()) == 0:
        raise InputError(f"{name}: black everywhere; what counts is white in a mask")
    shape = shape_along(rows, columns, min(height, width))
    if max(abs(shape[0] - height), abs(shape[1] - width)) > 0.02 * max(height, width) + 1:
        raise InputError(
            f"{name}: a mask of {columns}x{rows} pixels for its painting of {width}x{height}; "
            "expected one of the same proportions"
        )
    return resize_to(mask, height, width)
