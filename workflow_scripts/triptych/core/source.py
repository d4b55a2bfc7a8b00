"""Where the workflow lies that this library is part of: a checkout, or the folder of a wheel."""

from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
"""The folder with Snakefile, rules, config and resources."""


SNAKEFILE = str(SOURCE / "Snakefile")
"""For another workflow's `module triptych: snakefile: SNAKEFILE`."""


def source_of(folder: Path) -> Path:
    """The source of the workflow that runs in a folder: itself, where it is a checkout."""
    return folder if (folder / "rules").is_dir() else SOURCE
