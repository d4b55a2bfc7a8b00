"""WavCaps' archives from a server that speaks as much of the hub's protocol as that needs."""

import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from download_server import Behaviour, serving, status
from hub_site import REVISION, hub_site
from split_zip_writer import write_split_zip

from triptych.audio.data.audio_sources import open_audio
from triptych.audio.data.hub_archives import download_part
from triptych.core.download import DownloadError, download

REPOSITORY, FOLDER = "someone/sounds", "Zip_files/FreeSound"
BESIDE = "SoundBible"
"""A part of one archive that is fetched side by side."""
PLACE = f"/datasets/{REPOSITORY}/resolve/{REVISION}/{FOLDER}"


@pytest.fixture
def archives(tmp_path: Path) -> dict[str, bytes]:
    """The files of an archive of two full parts and a last one."""
    random = np.random.default_rng(0)
    inside = {f"mnt/FreeSound_flac/{n}.flac": random.bytes(120_000) for n in range(5)}
    paths = write_split_zip(tmp_path / "made" / "FreeSound.zip", inside, 250_000)
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture
def hub(archives: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Behaviour]:
    monkeypatch.setitem(download.__kwdefaults__, "attempts", 1)
    hub = Behaviour(files=hub_site("datasets", REPOSITORY, archives, FOLDER, set(archives)))
    other = {f"{BESIDE}.zip": bytes(70_000)}
    hub.files |= hub_site("datasets", REPOSITORY, other, f"Zip_files/{BESIDE}", set(other))
    with serving(hub) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield hub


def fetched(hub: Behaviour) -> list[str]:
    """Names of the archives fetched since the last look."""
    paths = [request["path"] for request in hub.requests]
    hub.requests.clear()
    return sorted(path.rpartition("/")[2] for path in paths if path.startswith(PLACE))


def fetch(tmp_path: Path) -> Path:
    target = tmp_path / "hub" / FOLDER
    room = tmp_path / "checkpoint" / "FreeSound"
    parts = ["FreeSound", BESIDE]
    download_part(REPOSITORY, REVISION, "FreeSound", target, room, parts=parts)
    return target


def test_a_part_is_fetched_whole_and_what_is_finished_not_again_after_a_failure(
    hub: Behaviour, archives: dict[str, bytes], tmp_path: Path
) -> None:
    hub.always, hub.disturbed = status(404), "FreeSound.z02"
    with pytest.raises(DownloadError, match="404"):
        fetch(tmp_path)
    assert not (tmp_path / "hub").exists()
    hub.behave()
    fetched(hub)
    target = fetch(tmp_path)
    assert fetched(hub) == ["FreeSound.z02", "FreeSound.zip"]
    assert {path.name: path.read_bytes() for path in target.iterdir()} == archives
    with open_audio(tmp_path / "hub").local("FreeSound_flac/3.flac", tmp_path) as sound:
        assert sound.stat().st_size == 120_000


@pytest.mark.parametrize("begun", [0, 50_000])
def test_a_disk_without_room_for_all_parts_and_shards_is_refused_before_anything_is_fetched(
    hub: Behaviour,
    archives: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    begun: int,
) -> None:
    waiting = tmp_path / "checkpoint" / BESIDE / REVISION
    waiting.mkdir(parents=True)
    (waiting / f"{BESIDE}.zip.part").write_bytes(bytes(begun))
    needed = 2 * (sum(map(len, archives.values())) + 70_000) - begun
    free = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free(needed - 1))
    with pytest.raises(DownloadError, match=r"FreeSound, SoundBible are still to come.*Make room"):
        fetch(tmp_path)
    assert fetched(hub) == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free(needed))
    fetch(tmp_path)
