"""Files that are either complete or absent."""

import csv
import hashlib
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # downloads need this module and no pandas
    import pandas as pd

INFRASTRUCTURE = True

FFMPEG_FORMATS = (
    "aac,ac3,eac3,aiff,amr,amrnb,amrwb,ape,asf,au,avi,caf,flac,flv,matroska,mov,mp3,mpeg,mpegts,"
    "ogg,tta,w64,wav,wv,mxf,dsf,iff,nistsphere,dts,dtshd,mpc,mpc8,tak,voc,rm"
)
"""Formats of sounds and films, by FFmpeg's names. Playlists are not among them: they would have it
open what they list."""

PARTIAL = ".partial-"
"""Prefix of temporary files and folders; safe to delete."""

SYSTEM_FOLDERS = {"__macosx", "@eadir", "#recycle", "$recycle.bin", "system volume information"}
"""Folders in which systems keep thumbnails and what was deleted, in lower case; those whose names
begin with a dot are hidden anyway."""


def is_hidden(path: PurePath) -> bool:
    """Whether a path, relative to the folder that a person named, is hidden or a system's own."""
    return any(part.startswith(".") or part.lower() in SYSTEM_FOLDERS for part in path.parts)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`, with its suffix, that replaces it at the end of the
    block. If the block raises, an earlier `path` stays as it was."""
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
    """Prefix of temporary files for `target`, different for each name in its folder."""
    return f"{PARTIAL}{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-"


def remove_partial(target: Path) -> None:
    """Delete temporary files that killed writers of `target` left beside it."""
    clear_partial(target.parent, f"{partial_prefix(target)}*")


def clear_partial(folder: Path, pattern: str = f"**/{PARTIAL}*") -> None:
    """Delete temporary files that killed writers left in `folder`."""
    for path in list(folder.glob(pattern)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def set_aside(folder: Path, paths: Iterable[Path]) -> Path:
    """Move files and folders into a new folder `folder`/aside-1, or the next free number."""
    numbered = (folder / f"aside-{number}" for number in itertools.count(1))
    aside = next(path for path in numbered if not path.exists())
    aside.mkdir()
    for path in paths:
        path.rename(aside / path.name)
    return aside


def write_csv(table: "pd.DataFrame", path: str | os.PathLike[str]) -> None:
    """Write a table atomically, without its index, with all digits of its floats."""
    # Readers take a bare carriage return for the end of a line; Python 3.12 does not quote it.
    text = table.select_dtypes(include=["object", "string"])
    returns = any(
        "\r" in value for _, column in text.items() for value in column if type(value) is str
    )
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
    """Error text for a pipe, socket or device, whose reading may never end; None for files."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
    return f"a {kind}, where a file is expected; write its contents to a file first"
