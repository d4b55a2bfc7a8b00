"""What `triptych stylize --optimize` paints towards: files of paintings, masks and regions."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.core.errors import InputError
from triptych.style.colours import matched
from triptych.style.images import LUMA, read_image, resize_to, shape_along
from triptych.style.mixtures import weighted
from triptych.style.optimisation.styles import Painting

NETWORKS = {".safetensors", ".pth", ".pt", ".model"}
"""Suffixes of files that no painting bears."""


def paintings(options: argparse.Namespace) -> list[Painting]:
    """Those of `--style`, with their weights, masks and regions as large as their files are.

    Raises InputError for what is no painting, weight or mask, or for masks that don't fit.
    """
    style = options.style
    given = [(style, 1.0)] if Path(style).is_file() else weighted(style)
    found = []
    for name, weight in given:
        if weight is None:
            raise InputError(
                f"--style {style}: {name} has no weight above 0; expected such as {name}:2"
            )
        found.append(Painting(_painting(name, options.paint), weight))
    masks = _masks("--style-masks", options.style_masks, [name for name, _ in given])
    regions = _masks("--regions", options.regions, [name for name, _ in given])
    for name, each, mask in zip(options.style_masks or [], found, masks, strict=False):
        if mask is not None:
            check_proportions(name, mask, each.image, "its painting")
    return [
        replace(
            each,
            mask=None if mask is None else resize_to(mask, *each.image.shape[1:]),
            region=region,
        )
        for each, mask, region in zip(found, masks, regions, strict=True)
    ]


def check_proportions(name: str, mask: Tensor, image: Tensor, whose: str) -> None:
    """Raise InputError for a mask [1, h, w] that would be squeezed to lie on [..., H, W]."""
    height, width = image.shape[-2:]
    rows, columns = shape_along(mask.shape[1], mask.shape[2], min(height, width))
    if max(abs(rows - height), abs(columns - width)) > 0.02 * max(height, width) + 1:
        raise InputError(
            f"{name}: a mask of {mask.shape[2]}x{mask.shape[1]} pixels for {whose} of "
            f"{width}x{height}; expected one of the same proportions"
        )


def coloured(style: Sequence[Painting], photograph: Tensor) -> list[Painting]:
    """Paintings in the colours of a photograph [3, H, W]."""
    return [replace(each, image=matched(each.image, photograph)) for each in style]


def _painting(name: str, paint: Callable[[str], Any]) -> Tensor:
    """The painting of a file, or one that the command paints itself by that name."""
    if not Path(name).is_file():
        return torch.from_numpy(paint(name)).permute(2, 0, 1)
    if Path(name).suffix.lower() in NETWORKS:
        raise InputError(
            f"{name} is a network, where a painting is expected: leave --optimize out to use it"
        )
    return read_image(name)


def _masks(
    option: str, files: Sequence[str] | None, names: Sequence[str]
) -> list[Tensor] | list[None]:
    """One a painting, [1, h, w]: how light a file is; None where none were given."""
    if files is None:
        return [None] * len(names)
    if len(files) != len(names):
        raise InputError(
            f"{option} {'+'.join(files)}: {len(files)} for {len(names)} paintings "
            f"({', '.join(names)}); expected one for each, in their order, joined by +"
        )
    weights = torch.tensor(LUMA).view(3, 1, 1)
    found = []
    for name in files:
        mask = (read_image(name) * weights).sum(0, keepdim=True).clamp_(0, 1)
        if float(mask.max()) == 0:
            raise InputError(f"{name}: black everywhere; what counts is white in a mask")
        found.append(mask)
    return found
