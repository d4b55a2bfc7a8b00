"""Files that are either whole or absent."""

import csv
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # downloads need this module and no pandas
    import pandas as pd

INFRASTRUCTURE = True

PARTIAL = ".partial-"
"""How the names of files and folders begin that are being written: nobody misses them."""


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`, of its suffix, that replaces it when the block ends
    well. A block that raises leaves the earlier `path`, if there was one, untouched."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=partial_prefix(target), suffix=target.suffix
        )
    except OSError as error:
        error.filename = os.fspath(target)  # what was asked for
        raise
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.umask(mask := os.umask(0))
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def partial_prefix(target: Path) -> str:
    """How the temporary names for `target` begin, of which others may be written beside it."""
    return f"{PARTIAL}{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-"


def remove_partial(target: Path) -> None:
    """Delete what killed writers of `target` left beside it."""
    clear_partial(target.parent, f"{partial_prefix(target)}*")


def clear_partial(folder: Path, pattern: str = f"**/{PARTIAL}*") -> None:
    """Delete what killed writers left in `folder`."""
    for path in list(folder.glob(pattern)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def link_or_copy(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Give a finished file a second name, or copy it where the file system has no such names.

    The file must be one that is replaced and never written to, as those of `atomic_path` are.
    """
    target = Path(path)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=partial_prefix(target)) as folder:
        temporary = Path(folder) / target.name
        try:
            os.link(source, temporary)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, temporary)
        temporary.replace(target)


def write_csv(table: "pd.DataFrame", path: str | os.PathLike[str]) -> None:
    """Write a table without its index, whole or not at all, with all digits of its floats."""
    # Readers take a bare carriage return for a line's end, which Python 3.12 doesn't quote.
    text = table.select_dtypes(include=["object", "string"])
    returns = any("\r" in value for _, each in text.items() for value in each if type(value) is str)
    form: Any = {"quoting": csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL}
    form["errors"] = "backslashreplace"  # names of files may hold bytes that are no text
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", **form)


def read_frames(paths: str | Path | Sequence[str | Path]) -> "pd.DataFrame":
    """CSV files of one layout as one frame. Raises ValueError for none."""
    import pandas as pd

    if isinstance(paths, str | Path):
        paths = [paths]
    if not paths:
        raise ValueError("at least one CSV file expected, got none")
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def not_a_file(path: str | os.PathLike[str]) -> str | None:
    """What to say of a pipe, a socket or a device, whose reading may never end; None for others."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
    return f"a {kind}, where a file is expected: write what it gives to a file, and give that"
