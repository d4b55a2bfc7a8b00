"""Files of the Hugging Face hub at one commit, by `download`. No login is used; HF_ENDPOINT in the
environment may name a mirror.
"""

import json
import os
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

from triptych.core.download import DownloadError, download
from triptych.core.errors import public_address


class HubFile(NamedTuple):
    """A file as the hub lists it: SHA-256 of a large one, git's own hash of a small one."""

    path: str
    url: str
    size: int
    sha256: str | None
    git_blob: str | None


def list_hub(
    kind: Literal["models", "datasets"],
    repository: str,
    revision: str,
    room: Path,
    folder: str = "",
) -> list[HubFile]:
    """The files right in `folder` of a repository, up to 1000, with `room` for the hub's answer.

    Raises DownloadError.
    """
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    commit = quote(revision, safe="")
    address = f"{hub}/api/{kind}/{repository}/tree/{commit}/{quote(folder, safe='')}".rstrip("/")
    answer = room / "tree.json"
    try:
        download(address, answer)
    except DownloadError as error:
        raise DownloadError(
            f"{error}\n(It was the hub's list of {folder or 'the files'} of {repository} at "
            f"{revision}: if there is none, check resources/sources.yaml and HF_ENDPOINT.)"
        ) from None
    try:
        items = [item for item in json.loads(answer.read_bytes()) if item["type"] == "file"]
        place = f"{hub}/{'' if kind == 'models' else kind + '/'}{repository}/resolve/{commit}"
        files = []
        for item in items:
            path, large = item["path"], item.get("lfs")
            hashes = (large["oid"], None) if large else (None, item["oid"])
            files.append(HubFile(path, f"{place}/{quote(path)}", (large or item)["size"], *hashes))
        return files
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(
            f"{public_address(address)}: not a list of files as the hub gives them "
            f"({type(error).__name__}: {error}). Check HF_ENDPOINT; open the address in a browser."
        ) from error
    finally:
        answer.unlink()


def download_hub(file: HubFile, path: Path) -> None:
    """Fetch a file that the hub lists into `path`, checked. Raises DownloadError."""
    download(file.url, path, file.size, file.sha256, git_blob=file.git_blob)
