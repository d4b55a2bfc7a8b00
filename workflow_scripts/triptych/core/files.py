"""Files that are either complete or absent."""

import csv
import filecmp
import hashlib
import itertools
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
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
def atomic_path(
    path: str | os.PathLike[str], put: Callable[[Path, Path], object] = Path.replace
) -> Iterator[Path]:
    """Yield a temporary path beside `path`, with its suffix, that replaces it at the end of the
    block. If the block raises, an earlier `path` stays as it was.

    put: gives the whole temporary file its name
    """
    target = Path(path)
    prefix = partial_prefix(target)
    temporary = target.with_name(f"{prefix}{secrets.token_hex(6)}{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
    except OSError as error:
        error.filename = os.fspath(target)  # what was asked for
        raise
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        put(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@dataclass
class Results:
    """Files that a call writes for people; each takes its name when it is whole.

    A name that exists is left to whoever made it, however late; the result takes the next one, as
    photo-2.png. Names count as equal where only their capitals differ.

    overwrite: replace files that this call has not written; repeated: a file that holds the same
    bytes already is the result; written: the names that were taken, in order
    """

    overwrite: bool = False
    repeated: bool = False
    written: list[Path] = field(default_factory=list)

    def new(self, target: Path) -> AbstractContextManager[Path]:
        """A context with a temporary path, which at its end is `target` or the next free name."""
        return atomic_path(target, self._put)

    def _put(self, temporary: Path, target: Path) -> None:
        endings = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
        names = (_with_ending(target, f"{ending}{target.suffix}") for ending in endings)
        self.written.append(next(path for path in names if self._placed(temporary, path)))

    def _placed(self, temporary: Path, path: Path) -> bool:
        if path.name.lower() in (own.name.lower() for own in self.written):
            return False
        if self.overwrite and not path.is_dir():
            temporary.replace(path)
            return True
        if self.repeated and path.is_file() and filecmp.cmp(temporary, path, shallow=False):
            return True
        return _taken(temporary, path)


def _with_ending(path: Path, ending: str) -> Path:
    """`path` with what follows its stem, which is cut to what its folder takes for a name."""
    stem, longest = path.stem, os.pathconf(path.parent, "PC_NAME_MAX")
    while len(os.fsencode(stem + ending)) > longest > 0:  # -1: no limit
        stem = stem[:-1]
    return path.with_name(stem + ending)


def _taken(temporary: Path, path: Path) -> bool:
    """Give a file a name unless it exists, at whatever moment; return whether it has it."""
    with suppress(OSError):  # some folders take files and show none
        if path.name.lower() in map(str.lower, os.listdir(path.parent)):
            return False
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # FAT and some network drives have no hard links: reserve the name
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            return False
        temporary.replace(path)
    return True


def partial_prefix(target: Path) -> str:
    """Prefix of temporary files for `target`, different for each name in its folder."""
    return f"{PARTIAL}{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-"


def remove_partial(target: Path) -> None:
    """Delete temporary files that killed writers of `target` left beside it."""
    clear_partial(target.parent, f"{partial_prefix(target)}*")


def clear_partial(folder: Path, pattern: str = f"**/{PARTIAL}*", hours: float = 0) -> None:
    """Delete temporary files that killed writers left in `folder`.

    hours: those which others may be writing are left until they haven't changed for so long
    """
    for path in list(folder.glob(pattern)):
        with suppress(FileNotFoundError):
            if hours and time.time() - path.stat().st_mtime < 3600 * hours:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


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
