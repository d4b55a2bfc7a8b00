"""Where photographs come from: zip files, read without unpacking, and folders."""

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from triptych.core.errors import InputError
from triptych.core.files import not_a_file
from triptych.style.image_files import NOT_READ, SUFFIXES, image_files

LARGEST_MEMBER_BYTES = 200_000_000
"""A member of an archive that claims more is left out rather than read into memory."""


@dataclass(frozen=True)
class Collection:
    """Photographs by name, in the order in which they are used, and how to get one's bytes."""

    what: str
    names: Sequence[str]
    read: Callable[[str], bytes]


@contextmanager
def archive(path: str | os.PathLike[str]) -> Iterator[Collection]:
    """The images of a zip file, by name, read member by member and never unpacked.

    Raises InputError when it is no zip file or holds no image.
    """
    try:
        members = zipfile.ZipFile(path)
    except Exception as error:  # zipfile raises many kinds for a damaged file
        raise InputError(
            f"{path}: not a readable zip file ({error}); delete it and download it again"
        ) from error
    with members:
        names = sorted(name for name in members.namelist() if _is_image(PurePosixPath(name)))
        if not names:
            raise InputError(f"{path}: none of its {len(members.namelist())} members is an image")
        yield Collection(str(path), names, partial(_member, members))


def _is_image(path: PurePosixPath) -> bool:
    hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    return path.suffix.lower() in SUFFIXES | NOT_READ and not hidden


def _member(members: zipfile.ZipFile, name: str) -> bytes:
    size = members.getinfo(name).file_size
    if size > LARGEST_MEMBER_BYTES:
        raise InputError(f"it claims {size} bytes")
    try:
        return members.read(name)  # checks the member's CRC
    except Exception as error:  # zipfile raises many kinds for a damaged member
        raise InputError(f"{type(error).__name__}: {error}") from error


def folder(path: str | os.PathLike[str]) -> Collection:
    """The images in and below a folder. Raises InputError when there is none."""
    root = Path(path)
    names = [file.relative_to(root).as_posix() for file in image_files(root, recursive=True)]
    if not names:
        raise InputError(
            f"{root}: no image in this folder; expected files such as "
            f"{', '.join(sorted(SUFFIXES)[:4])}"
        )
    return Collection(str(root), names, partial(_file, root))


def _file(root: Path, name: str) -> bytes:
    if odd := not_a_file(root / name):
        raise InputError(odd)
    return (root / name).read_bytes()
