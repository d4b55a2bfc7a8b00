"""WavCaps' recordings from the Hugging Face hub: the archives of one part, one after the other.

A part is `Zip_files/<part>/<part>.z01`, `.z02`, ... and `<part>.zip`, up to 5.4 GB each. Which
there are, how long they are and their SHA-256 is asked of the hub, at a fixed revision. Finished
archives wait in a folder of their own until all are there, since Snakemake deletes an unfinished
output before it starts again.
"""

import logging
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from triptych.audio.data.audio_sources import ARCHIVES
from triptych.audio.data.folders import move_folder
from triptych.core.download import DownloadError, download

logger = logging.getLogger(__name__)

GIGABYTE = 1_000_000_000
StrPath = str | os.PathLike[str]


class Archive(NamedTuple):
    """One file of a part, as the hub lists it."""

    name: str
    url: str
    size: int
    sha256: str


def list_archives(repository: str, revision: str, part: str) -> list[Archive]:
    """The archives of a part, the last of which, `<part>.zip`, holds the directory of all.

    repository: of a data set on the hub; the environment's HF_ENDPOINT may name a mirror. Raises
    DownloadError when the hub can't be asked, or when archives are missing from its list.
    """
    from huggingface_hub import HfApi, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    address = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    folder = f"{ARCHIVES}/{part}"
    try:
        tree = list(
            HfApi(endpoint=address).list_repo_tree(
                repository, folder, revision=revision, repo_type="dataset", token=False
            )
        )
    except (HfHubHTTPError, OSError) as error:
        raise DownloadError(
            f"{repository}, {folder} at {revision}: the hub doesn't list it "
            f"({type(error).__name__}). Check the network and HF_ENDPOINT, then run again."
        ) from error
    archives = []
    for item in tree:
        large = getattr(item, "lfs", None)  # folders and small files have none
        if large is not None:
            name = PurePosixPath(item.path).name
            url = hf_hub_url(
                repository, item.path, revision=revision, repo_type="dataset", endpoint=address
            )
            archives.append(Archive(name, url, large.size, large.sha256))
    _check_complete(f"{repository}/{folder} at {revision}", part, [each.name for each in archives])
    return sorted(archives, key=lambda archive: (archive.name.endswith(".zip"), archive.name))


def _check_complete(where: str, part: str, names: Sequence[str]) -> None:
    """Raise DownloadError unless there are `<part>.zip` and, without a gap, z01 to the last."""
    numbered = [re.fullmatch(rf"{re.escape(part)}\.z(\d+)", name) for name in names]
    last = max((int(found[1]) for found in numbered if found), default=0)
    expected = {f"{part}.zip", *(f"{part}.z{number:02d}" for number in range(1, last + 1))}
    if expected != set(names):
        raise DownloadError(
            f"{where}: the hub lists {len(names)} archives; missing: "
            f"{', '.join(sorted(expected.difference(names))) or 'none'}; unknown: "
            f"{', '.join(sorted(set(names) - expected)) or 'none'}. See there what has changed."
        )


def download_part(
    repository: str, revision: str, part: str, target: StrPath, checkpoint: StrPath
) -> None:
    """Fetch all archives of a part into `target`, checked; finished ones wait in `checkpoint`.

    Raises DownloadError as `download` and `list_archives` do, and when there is too little room;
    what came so far is kept.
    """
    archives = list_archives(repository, revision, part)
    waiting = Path(checkpoint) / revision
    waiting.mkdir(parents=True, exist_ok=True)
    # `download` gives an archive its name when it is whole and right.
    left = [archive for archive in archives if not (waiting / archive.name).exists()]
    _check_room(waiting, left)
    for archive in left:
        logger.info("%s, %.1f GB of %s", archive.name, archive.size / GIGABYTE, part)
        download(archive.url, waiting / archive.name, size=archive.size, sha256=archive.sha256)
    move_folder(waiting, Path(target))


def _check_room(waiting: Path, left: Sequence[Archive]) -> None:
    """Raise DownloadError now rather than when the disk is full, after hundreds of gigabytes."""
    begun = sum(path.stat().st_size for path in waiting.glob("*.part"))
    needed = sum(archive.size for archive in left) - begun
    free = shutil.disk_usage(waiting).free
    logger.info("%d archives, %.1f GB are still to come", len(left), needed / GIGABYTE)
    if needed > free:
        raise DownloadError(
            f"{waiting}: {needed / GIGABYTE:.1f} GB are still to come and {free / GIGABYTE:.1f} GB "
            "are free. Make room there, or leave this part of WavCaps out (audio.sources)."
        )
