"""Options of `triptych stylize` that only --optimize knows."""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from triptych.core.errors import InputError, positive
from triptych.core.provenance import SOURCE

EVALUATIONS = [80, 60, 30]
"""Evaluations at each scale, coarse to fine; the last ones by L-BFGS (`scales.refining`)."""

WEIGHTS = ("content_weight", "style_weight", "tv_weight")
ONLY = ("evaluations", *WEIGHTS)


def shipped_paintings(root: Path = SOURCE) -> dict[str, Path]:
    """The paintings that a checkout ships, by name."""
    return {path.stem: path for path in sorted((root / "resources/style/paintings").glob("*.png"))}


def shipped_styles(root: Path = SOURCE) -> list[str]:
    """The styles of the shipped networks, from their headers: importing safetensors is slow."""
    names: list[str] = []
    for path in sorted((root / "resources/style/networks").glob("*.safetensors")):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        names += json.loads(header["__metadata__"]["network"])["record"]["styles"]
    return names


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of --optimize; each is None where it isn't given."""
    for name, loss in (("content", "content"), ("style", "style"), ("tv", "total variation")):
        group.add_argument(
            f"--{name}-weight",
            type=_weight,
            metavar="W",
            help=f"weight of the {loss} loss (default: the preset's)",
        )


def changes(options: argparse.Namespace) -> dict[str, Any]:
    """Choices of the preset that options replace, by name."""
    values = {name.replace("tv", "total_variation"): getattr(options, name) for name in WEIGHTS}
    return {choice: value for choice, value in values.items() if value is not None}


def refuse_without_optimize(options: argparse.Namespace) -> None:
    """Raise InputError for an option that would do nothing."""
    names = [name for name in ONLY if getattr(options, name) is not None]
    if names and not options.optimize:
        raise InputError(
            f"--{names[0].replace('_', '-')} needs --optimize: a trained network ignores it"
        )


def _weight(text: str, least: float = 0.0) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least {least:g}")
    return number


def amount(text: str) -> float:
    """A number of at least a hundredth, as argparse's `type`."""
    return _weight(text, 0.01)


def counts(text: str) -> list[int]:
    """Whole numbers of at least 1 between commas, as argparse's `type`."""
    return [positive(count) for count in text.split(",")]
