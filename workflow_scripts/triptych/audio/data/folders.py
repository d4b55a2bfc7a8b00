"""Folders that appear when all is in them, from work that may be cut and go on later."""

import errno
import shutil
from pathlib import Path

from triptych.core.errors import InputError
from triptych.core.files import PARTIAL


def move_folder(source: Path, target: Path) -> None:
    """Give a finished folder its place, which may be taken by an empty one.

    One rename, or where the two lie on different disks a copy and then a rename. Raises InputError
    when something is in `target`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        if any(target.iterdir()):
            raise InputError(f"{target} is there already and not empty; delete it to make it anew")
        target.rmdir()  # Snakemake may have made it
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy = target.with_name(PARTIAL + target.name)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
        copy.rename(target)
        shutil.rmtree(source)
