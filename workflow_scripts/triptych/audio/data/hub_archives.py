"""WavCaps' recordings from the Hugging Face hub: the archives of one part, one after the other.

A part is `Zip_files/<part>/<part>.z01`, ... and `<part>.zip`, up to 5.4 GB each. Finished archives
wait in a folder of their own: Snakemake deletes an unfinished output.
"""

import logging
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from triptych.audio.data.audio_sources import ARCHIVES, move_folder
from triptych.audio.data.hub import HubFile, download_hub, list_hub
from triptych.core.download import DownloadError

logger = logging.getLogger(__name__)

GIGABYTE = 1_000_000_000
StrPath = str | os.PathLike[str]


def download_part(
    repository: str,
    revision: str,
    part: str,
    target: StrPath,
    checkpoint: StrPath,
    parts: Sequence[str],
) -> None:
    """Fetch all archives of a part into `target`, checked; finished ones wait in `checkpoint`.

    parts: all that the run fetches, this one included, into folders beside `target`. Raises
    DownloadError, also when there is too little room for the archives of all of them that are
    missing and for their shards, which take as much; what came so far is kept.
    """
    room, target = Path(checkpoint), Path(target)
    listed = {name: _archives(repository, revision, name, room) for name in {part, *parts}}
    waiting = room / revision
    waiting.mkdir(parents=True, exist_ok=True)
    here = {name: (target.with_name(name), room.with_name(name) / revision) for name in listed}
    shards = sum(archive.size for archives in listed.values() for archive in archives.values())
    coming = shards - sum(_bytes_in(folder) for folders in here.values() for folder in folders)
    free = shutil.disk_usage(waiting).free
    if coming + shards > free:
        raise DownloadError(
            f"{waiting}: {coming / GIGABYTE:.1f} GB of {', '.join(sorted(listed))} are still to "
            f"come, their shards take another {shards / GIGABYTE:.1f} GB, and "
            f"{free / GIGABYTE:.1f} GB are free. Make room there, take the MP3 copy "
            "(audio.sources.wavcaps.source: mp3, 157 GB), or leave parts of WavCaps out "
            "(audio.sources.wavcaps.parts)."
        )
    for number, (name, archive) in enumerate(listed[part].items(), start=1):
        # `download_hub` gives an archive its name when it is whole and right.
        if not (waiting / name).exists():
            size = archive.size / GIGABYTE
            logger.info("%s, %.1f GB, archive %d of %d", name, size, number, len(listed[part]))
            download_hub(archive, waiting / name)
    move_folder(waiting, target)


def _archives(repository: str, revision: str, part: str, room: Path) -> dict[str, HubFile]:
    files = list_hub("datasets", repository, revision, room, f"{ARCHIVES}/{part}")
    return {PurePosixPath(file.path).name: file for file in files if file.sha256 is not None}


def _bytes_in(folder: Path) -> int:
    """Size of a folder's files, whole and begun; those of other jobs may vanish meanwhile."""
    sizes = 0
    for path in folder.glob("*"):
        with suppress(FileNotFoundError):
            sizes += path.stat().st_size
    return sizes
