"""7z and zip archives unpacked whole or not at all."""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import multivolumefile
import py7zr

from triptych.audio.data.audio_sources import move_folder
from triptych.core.errors import InputError
from triptych.core.files import partial_prefix

MEGABYTE = 1_000_000
ROOM_TO_SPARE = 1.02  # file systems need some for themselves


def unpack(
    archive: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    files: int | None = None,
) -> None:
    """Unpack a .zip, a .7z, or the parts of one (x.7z.001, ...) into `target`, which appears when
    whole.

    A single folder around all members is left out. `files`: how many the archive must hold. Raises
    InputError for a damaged archive, another number of files, and too little room. zipfile and
    py7zr write nothing outside of the folder that they are given.
    """
    parts = [archive] if isinstance(archive, str | os.PathLike) else archive
    paths, target = [Path(part) for part in parts], Path(target)
    archive = paths[0]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _opened(paths) as (packed, sizes):
            _check(archive, sizes, files, target.parent)
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
) -> Iterator[tuple[zipfile.ZipFile | py7zr.SevenZipFile, list[int]]]:
    """The archive, and the sizes of its files in bytes."""
    if paths[0].suffix == ".zip":
        with zipfile.ZipFile(paths[0]) as zipped:
            yield zipped, [entry.file_size for entry in zipped.infolist() if not entry.is_dir()]
        return
    with ExitStack() as stack:
        source: Any = paths[0]
        if len(paths) > 1:
            name = str(paths[0].with_suffix(""))
            source = stack.enter_context(multivolumefile.open(name, mode="rb"))
        packed = stack.enter_context(py7zr.SevenZipFile(source))
        yield packed, [entry.uncompressed for entry in packed.list() if not entry.is_directory]


def _check(archive: Path, sizes: Sequence[int], files: int | None, folder: Path) -> None:
    count, unpacked, free = len(sizes), sum(sizes), shutil.disk_usage(folder).free
    if count == 0 or (files is not None and count != files):
        raise InputError(
            f"{archive}: {'some' if files is None else files} files expected inside, found "
            f"{count}; correct the number in resources/sources.yaml if the source has changed"
        )
    if ROOM_TO_SPARE * unpacked > free:
        raise InputError(
            f"{archive} needs {unpacked / MEGABYTE:.0f} MB unpacked, and {folder} has "
            f"{free / MEGABYTE:.0f} MB free; make room there and run again"
        )


def _without_wrapper(folder: Path) -> Path:
    """The one folder in `folder`, or `folder` itself where there is anything beside it."""
    content = list(folder.iterdir())
    return content[0] if len(content) == 1 and content[0].is_dir() else folder
