"""Files that are either whole or absent."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # downloads need this module and no pandas
    import pandas as pd


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path` that replaces it when the block ends well.

    The temporary file keeps the suffix of `path`, so that writers which look at it
    (pandas, matplotlib, h5py) choose the same format. A block that raises leaves the
    earlier `path`, if there was one, untouched.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".partial-", suffix=target.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_csv(table: "pd.DataFrame", path: str | os.PathLike[str]) -> None:
    """Write a table without its index, whole or not at all, with all digits of its floats."""
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
