"""Folders that appear when all is in them, from work that may be cut and go on later."""

import shutil
from pathlib import Path

from triptych.core.errors import InputError


def move_folder(source: Path, target: Path) -> None:
    """Give a finished folder its place, perhaps on another disk. Raises InputError where one is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        if any(target.iterdir()):
            raise InputError(f"{target} is there already and not empty; delete it to make it anew")
        target.rmdir()  # Snakemake may have made it
    shutil.move(source, target)
