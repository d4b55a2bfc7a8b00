"""`triptych stylize`. Here: what its help names, found without slow imports."""

import json
from pathlib import Path

from triptych.core.provenance import SOURCE

EVALUATIONS = [80, 60, 30]
"""Of --optimize at each scale, coarse to fine; the last ones by L-BFGS (`scales.refining`)."""

ALL = "all"
"""The --style by which a photograph is painted in every style, on one sheet."""

STEADY = 0.95
"""Share of the fine strokes of the frame before that a film's frame keeps, unless --steady says."""


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


def unfinished_folder(output: Path) -> Path:
    """Where a stopped call of --optimize leaves its states, beside its result or folder."""
    return output.resolve().with_name(f"{output.resolve().name}.unfinished")
