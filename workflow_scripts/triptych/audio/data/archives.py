"""7z archives unpacked whole or not at all (Clotho's four), trusting nothing that they say."""

import os
import shutil
import stat
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath

import py7zr

from triptych.audio.data.folders import move_folder
from triptych.core.errors import InputError
from triptych.core.files import partial_prefix

MEGABYTE = 1_000_000
ROOM_TO_SPARE = 1.02  # file systems need some for themselves
MOST_FILES = 100_000  # Clotho's largest archive has 3,839
LARGEST_RATIO = 1000  # recordings shrink to a half; only emptiness shrinks so far


def unpack_7z(
    archive: str | os.PathLike[str], target: str | os.PathLike[str], files: int | None = None
) -> None:
    """Unpack into the folder `target`, which appears when all is there.

    A single folder around all members is left out (`development/x.wav` becomes `x.wav`). `files`
    is how many files the archive must hold. Raises InputError for a damaged archive, for members
    that would land outside the folder or on each other, links and devices, another number of
    files, too little room, and what grows a thousandfold.
    """
    archive, target = Path(archive), Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with py7zr.SevenZipFile(archive) as members:
            _check_members(archive, members, files)
            _check_room(archive, members, target.parent)
            beside = partial_prefix(target)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=beside) as work:
                inside = Path(work) / "content"
                members.extractall(inside)
                for path in inside.rglob("*"):  # an archive may forbid to read, or set other bits
                    path.chmod(0o755 if path.is_dir() else 0o644)
                move_folder(_without_wrapper(inside), target)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{archive} cannot be unpacked into {target}: {error}") from error
    except Exception as error:  # py7zr raises many kinds for a damaged file
        raise InputError(
            f"{archive}: not a whole 7z archive ({type(error).__name__}: {error}); delete it and "
            "download it again"
        ) from error


def _check_members(archive: Path, members: py7zr.SevenZipFile, files: int | None) -> None:
    names: set[str] = set()
    for member in members.files:
        name = str(member.filename)
        if name in names:
            raise InputError(
                f"{archive}: holds {name!r} twice; this is not the archive that it should be"
            )
        names.add(name)
        if not _stays_inside(name):
            raise InputError(
                f"{archive}: its member {name!r} would be written outside of the folder; "
                "this is not the archive that it should be"
            )
        plain = member.st_fmt in (None, stat.S_IFREG, stat.S_IFDIR)
        if member.is_symlink or member.is_junction or not plain:
            raise InputError(
                f"{archive}: its member {name!r} is a link or a device, expected files and "
                "folders; this is not the archive that it should be"
            )
    there = sum(not member.is_directory for member in members.files)
    if there > MOST_FILES:
        raise InputError(f"{archive}: holds {there} files, expected at most {MOST_FILES}")
    if there == 0 or (files is not None and there != files):
        raise InputError(
            f"{archive}: {'some' if files is None else files} files expected inside, found "
            f"{there}; correct the number in resources/sources.yaml if the source has changed"
        )


def _stays_inside(name: str) -> bool:
    """Whether a member's name means a place below the folder, on any system."""
    return not any(
        path.is_absolute() or path.drive or path.root or ".." in path.parts
        for path in (PurePosixPath(name), PureWindowsPath(name))
    )


def _check_room(archive: Path, members: py7zr.SevenZipFile, folder: Path) -> None:
    unpacked = sum(member.uncompressed or 0 for member in members.files)
    needed = ROOM_TO_SPARE * unpacked
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"{archive} needs {needed / MEGABYTE:.0f} MB unpacked, and {folder} has "
            f"{free / MEGABYTE:.0f} MB free; make room there and run again"
        )
    if unpacked > LARGEST_RATIO * archive.stat().st_size:
        raise InputError(
            f"{archive}: {archive.stat().st_size} bytes would become {unpacked}; recordings don't "
            "shrink so far: this is not the archive that it should be"
        )


def _without_wrapper(folder: Path) -> Path:
    """The one folder in `folder`, or `folder` itself where there is anything beside it."""
    content = list(folder.iterdir())
    return content[0] if len(content) == 1 and content[0].is_dir() else folder
