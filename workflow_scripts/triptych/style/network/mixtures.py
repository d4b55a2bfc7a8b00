"""Styles of a conditional network by name, and mixtures of them. No PyTorch."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from triptych.core.errors import InputError


def header_of(path: Path) -> dict[str, Any]:
    """Header of a network's file (.safetensors): `architecture` and `record`, or {}.

    Raises SafetensorError or ValueError for another file.
    """
    with safe_open(path, "numpy") as file:
        header: dict[str, Any] = json.loads((file.metadata() or {}).get("network", "{}"))
    return header


def styles_of(path: Path) -> list[str]:
    """The styles that a conditional network has; none for any other file."""
    try:
        header = header_of(path)
        several = header["architecture"].get("styles", 1) > 1
        return list(header["record"]["styles"]) if several else []
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # what is wrong with it, its reader says


def mixture(style: str, styles: Sequence[str], where: str) -> list[float]:
    """The weight of each of `styles`, adding up to one, in "swirls" or "swirls:2+waves:1".

    A weight that isn't given is 1. Raises InputError for another name or weight; where: whose
    styles they are.
    """
    weights = dict.fromkeys(styles, 0.0)
    for name, weight in weighted(style):
        if name not in weights or weight is None:
            raise InputError(
                f"{style!r} is no style of {where}; expected one of {', '.join(styles)}, or "
                f"several with weights above 0, such as {styles[0]}:2+{styles[-1]}:1"
            )
        weights[name] += weight
    total = sum(weights.values())
    return [value / total for value in weights.values()]


def weighted(text: str) -> list[tuple[str, float | None]]:
    """Names and weights of "swirls:2+waves:1": 1 where none is given, None for none above 0."""
    parts = []
    for part in text.split("+"):
        name, _, weight = map(str.strip, part.partition(":"))
        try:
            value = float(weight or 1)
        except ValueError:
            value = -1.0
        parts.append((name, value if 0 < value < math.inf else None))
    return parts
