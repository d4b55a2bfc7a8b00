"""7z and zip archives unpacked whole or not at all, trusting nothing that they say."""

import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO, NamedTuple, cast

import multivolumefile
import py7zr

from triptych.audio.data.audio_sources import move_folder
from triptych.core.errors import InputError
from triptych.core.files import partial_prefix

MEGABYTE = 1_000_000
ROOM_TO_SPARE = 1.02  # file systems need some for themselves
MOST_FILES = 1_000_000  # Clotho's largest archive has 3,839, WavCaps 403,050
LARGEST_RATIO = 1000  # recordings shrink to a half; only emptiness shrinks so far


class _Member(NamedTuple):
    """An entry of an archive. plain: a file or a folder, no link or device."""

    name: str
    folder: bool
    plain: bool
    size: int


def unpack(
    archive: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    files: int | None = None,
) -> None:
    """Unpack a .zip, a .7z, or the parts of one (x.7z.001, ...) into `target`, which appears when
    whole.

    A single folder around all members is left out. `files`: how many the archive must hold. Raises
    InputError for a damaged archive, members that would land outside or on each other, links and
    devices, another number of files, too little room, and what grows a thousandfold.
    """
    parts = [archive] if isinstance(archive, str | os.PathLike) else archive
    paths, target = [Path(part) for part in parts], Path(target)
    archive = paths[0]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _opened(paths) as (packed, members):
            _check_members(archive, members, files)
            _check_room(archive, sum(path.stat().st_size for path in paths), members, target.parent)
            beside = partial_prefix(target)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=beside) as work:
                inside = Path(work) / "content"
                packed.extractall(inside)
                for path in inside.rglob("*"):  # an archive may forbid to read, or set other bits
                    path.chmod(0o755 if path.is_dir() else 0o644)
                move_folder(_without_wrapper(inside), target)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{archive} cannot be unpacked into {target}: {error}") from error
    except Exception as error:  # py7zr raises many kinds for a damaged file
        raise InputError(
            f"{archive}: not a whole archive ({type(error).__name__}: {error}); delete it and "
            "download it again"
        ) from error


@contextmanager
def _opened(
    paths: Sequence[Path],
) -> Iterator[tuple[zipfile.ZipFile | py7zr.SevenZipFile, list[_Member]]]:
    if paths[0].suffix == ".zip":
        with zipfile.ZipFile(paths[0]) as zipped:
            yield zipped, [_of_zip(info) for info in zipped.infolist()]
    elif len(paths) == 1:
        with py7zr.SevenZipFile(paths[0]) as packed:
            yield packed, [_of_7z(info) for info in packed.files]
    else:
        with (
            multivolumefile.open(str(paths[0].with_suffix("")), mode="rb") as joined,
            py7zr.SevenZipFile(cast(BinaryIO, joined)) as packed,
        ):
            yield packed, [_of_7z(info) for info in packed.files]


def _of_zip(info: zipfile.ZipInfo) -> _Member:
    kind = stat.S_IFMT(info.external_attr >> 16)
    plain = kind in (0, stat.S_IFREG, stat.S_IFDIR)
    return _Member(info.filename, info.is_dir(), plain, info.file_size)


def _of_7z(info: py7zr.py7zr.ArchiveFile) -> _Member:
    plain = info.st_fmt in (None, stat.S_IFREG, stat.S_IFDIR)
    linked = bool(info.is_symlink or info.is_junction)
    name = str(info.filename)
    return _Member(name, info.is_directory, plain and not linked, info.uncompressed or 0)


def _check_members(archive: Path, members: Sequence[_Member], files: int | None) -> None:
    names: set[str] = set()
    odd = "; this is not the archive that it should be"
    for member in members:
        name = member.name
        if name in names:
            raise InputError(f"{archive}: holds {name!r} twice{odd}")
        names.add(name)
        if not _stays_inside(name):
            raise InputError(
                f"{archive}: its member {name!r} would be written outside of the folder{odd}"
            )
        if not member.plain:
            raise InputError(f"{archive}: its member {name!r} is a link or a device{odd}")
    count = sum(not member.folder for member in members)
    if count > MOST_FILES:
        raise InputError(f"{archive}: holds {count} files, expected at most {MOST_FILES}")
    if count == 0 or (files is not None and count != files):
        raise InputError(
            f"{archive}: {'some' if files is None else files} files expected inside, found "
            f"{count}; correct the number in resources/sources.yaml if the source has changed"
        )


def _stays_inside(name: str) -> bool:
    """Whether a member's name means a place below the folder, on any system."""
    return not any(
        path.is_absolute() or path.drive or path.root or ".." in path.parts
        for path in (PurePosixPath(name), PureWindowsPath(name))
    )


def _check_room(archive: Path, packed: int, members: Sequence[_Member], folder: Path) -> None:
    unpacked, free = sum(member.size for member in members), shutil.disk_usage(folder).free
    if ROOM_TO_SPARE * unpacked > free:
        raise InputError(
            f"{archive} needs {unpacked / MEGABYTE:.0f} MB unpacked, and {folder} has "
            f"{free / MEGABYTE:.0f} MB free; make room there and run again"
        )
    if unpacked > LARGEST_RATIO * packed:
        raise InputError(
            f"{archive}: {packed} bytes would become {unpacked}; recordings don't shrink so far"
        )


def _without_wrapper(folder: Path) -> Path:
    """The one folder in `folder`, or `folder` itself where there is anything beside it."""
    content = list(folder.iterdir())
    return content[0] if len(content) == 1 and content[0].is_dir() else folder
