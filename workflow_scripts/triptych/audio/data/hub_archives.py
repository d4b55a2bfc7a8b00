"""WavCaps' recordings from the Hugging Face hub: the archives of one part, one after the other.

A part is `Zip_files/<part>/<part>.z01`, ... and `<part>.zip`, up to 5.4 GB each. Finished archives
wait in a folder of their own: Snakemake deletes an unfinished output.
"""

import logging
import os
import shutil
from pathlib import Path, PurePosixPath

from triptych.audio.data.audio_sources import ARCHIVES, move_folder
from triptych.audio.data.hub import download_hub, list_hub
from triptych.core.download import DownloadError

logger = logging.getLogger(__name__)

GIGABYTE = 1_000_000_000
StrPath = str | os.PathLike[str]


def download_part(
    repository: str, revision: str, part: str, target: StrPath, checkpoint: StrPath
) -> None:
    """Fetch all archives of a part into `target`, checked; finished ones wait in `checkpoint`.

    Raises DownloadError, also when there is too little room for the archives that are missing and
    the shards, which take as much as all of them; what came so far is kept.
    """
    room = Path(checkpoint)
    files = list_hub("datasets", repository, revision, room, f"{ARCHIVES}/{part}")
    archives = {PurePosixPath(file.path).name: file for file in files if file.sha256 is not None}
    waiting = room / revision
    waiting.mkdir(parents=True, exist_ok=True)
    # `download_hub` gives an archive its name when it is whole and right.
    missing = {name: file for name, file in archives.items() if not (waiting / name).exists()}
    begun = sum(path.stat().st_size for path in waiting.glob("*.part"))
    coming = sum(archive.size for archive in missing.values()) - begun
    shards = sum(archive.size for archive in archives.values())
    free = shutil.disk_usage(waiting).free
    if coming + shards > free:
        raise DownloadError(
            f"{waiting}: {coming / GIGABYTE:.1f} GB are still to come, their shards take another "
            f"{shards / GIGABYTE:.1f} GB, and {free / GIGABYTE:.1f} GB are free. Make room there, "
            "take the MP3 copy (audio.sources.wavcaps.source: mp3, 157 GB), or leave this part of "
            "WavCaps out (audio.sources.wavcaps.parts)."
        )
    for name, archive in missing.items():
        logger.info("%s, %.1f of %.1f GB", name, archive.size / GIGABYTE, shards / GIGABYTE)
        download_hub(archive, waiting / name)
    move_folder(waiting, Path(target))
