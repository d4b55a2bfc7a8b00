"""WavCaps' recordings from the Hugging Face hub: the archives of one part, one after the other.

A part is `Zip_files/<part>/<part>.z01`, ... and `<part>.zip`, up to 5.4 GB each. Finished archives
wait in a folder of their own: Snakemake deletes an unfinished output.
"""

import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from triptych.audio.data.audio_sources import ARCHIVES, move_folder
from triptych.audio.data.hub import HubFile, download_hub, list_hub
from triptych.core.download import DownloadError

logger = logging.getLogger(__name__)

GIGABYTE = 1_000_000_000
StrPath = str | os.PathLike[str]


def list_archives(repository: str, revision: str, part: str, room: Path) -> list[HubFile]:
    """The archives of a part, `<part>.zip` last. Raises DownloadError when some are missing."""
    folder = f"{ARCHIVES}/{part}"
    files = list_hub("datasets", repository, revision, room, folder)
    archives = [file for file in files if file.sha256 is not None]
    names = {_name(archive) for archive in archives}
    expected = {f"{part}.zip", *(f"{part}.z{number:02d}" for number in range(1, len(names)))}
    if missing := sorted(expected - names):
        raise DownloadError(
            f"{repository}/{folder} at {revision}: the hub lists {len(names)} archives; missing: "
            f"{', '.join(missing)}. See there what has changed."
        )
    return sorted(archives, key=lambda archive: (archive.path.endswith(".zip"), archive.path))


def _name(archive: HubFile) -> str:
    return PurePosixPath(archive.path).name


def download_part(
    repository: str, revision: str, part: str, target: StrPath, checkpoint: StrPath
) -> None:
    """Fetch all archives of a part into `target`, checked; finished ones wait in `checkpoint`.

    Raises DownloadError, also when there is too little room; what came so far is kept.
    """
    archives = list_archives(repository, revision, part, Path(checkpoint))
    waiting = Path(checkpoint) / revision
    waiting.mkdir(parents=True, exist_ok=True)
    # `download_hub` gives an archive its name when it is whole and right.
    missing = [archive for archive in archives if not (waiting / _name(archive)).exists()]
    _check_room(waiting, missing, shards=sum(archive.size for archive in archives))
    for archive in missing:
        logger.info("%s, %.1f GB of %s", _name(archive), archive.size / GIGABYTE, part)
        download_hub(archive, waiting / _name(archive))
    move_folder(waiting, Path(target))


def _check_room(waiting: Path, missing: Sequence[HubFile], shards: int) -> None:
    """Raise DownloadError now rather than when the disk is full, after hundreds of gigabytes.

    shards: bytes that the part's recordings take once more when they are cut into shards.
    """
    begun = sum(path.stat().st_size for path in waiting.glob("*.part"))
    coming = sum(archive.size for archive in missing) - begun
    free = shutil.disk_usage(waiting).free
    logger.info("%d archives, %.1f GB are still to come", len(missing), coming / GIGABYTE)
    if coming + shards > free:
        raise DownloadError(
            f"{waiting}: {coming / GIGABYTE:.1f} GB are still to come, their shards take another "
            f"{shards / GIGABYTE:.1f} GB, and {free / GIGABYTE:.1f} GB are free. Make room there, "
            "take the MP3 copy (audio.sources.wavcaps.source: mp3, 157 GB), or leave this part of "
            "WavCaps out (audio.sources.wavcaps.parts)."
        )
