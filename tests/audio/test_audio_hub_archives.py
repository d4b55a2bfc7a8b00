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
PLACE = f"/datasets/{REPOSITORY}/resolve/{REVISION}/{FOLDER}"


class Hub(Behaviour):
    """The archives by name."""

    def __init__(self, archives: dict[str, bytes]) -> None:
        super().__init__()
        self.archives = archives
        self.files = hub_site("datasets", REPOSITORY, archives, FOLDER, set(archives))

    def fetched(self) -> list[str]:
        """Names of the archives fetched since the last look."""
        paths = [request["path"] for request in self.requests]
        self.requests.clear()
        return sorted(path.rpartition("/")[2] for path in paths if path.startswith(PLACE))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An archive of two full parts and a last one."""
    random = np.random.default_rng(0)
    inside = {f"mnt/FreeSound_flac/{n}.flac": random.bytes(120_000) for n in range(5)}
    paths = write_split_zip(tmp_path / "made" / "FreeSound.zip", inside, 250_000)
    hub = Hub({path.name: path.read_bytes() for path in paths})
    monkeypatch.setitem(download.__kwdefaults__, "attempts", 1)
    with serving(hub) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield hub


def fetch(tmp_path: Path) -> Path:
    target = tmp_path / "hub" / FOLDER
    download_part(REPOSITORY, REVISION, "FreeSound", target, tmp_path / "checkpoint")
    return target


def test_a_part_is_fetched_whole_and_can_be_read(hub: Hub, tmp_path: Path) -> None:
    target = fetch(tmp_path)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == hub.archives
    with open_audio(tmp_path / "hub").local("FreeSound_flac/3.flac", tmp_path) as sound:
        assert sound.stat().st_size == 120_000


def test_finished_archives_are_not_fetched_again_after_a_failure(hub: Hub, tmp_path: Path) -> None:
    hub.always, hub.disturbed = status(404), "FreeSound.z02"
    with pytest.raises(DownloadError, match="404"):
        fetch(tmp_path)
    assert not (tmp_path / "hub").exists()
    hub.behave()
    hub.fetched()
    fetch(tmp_path)
    assert hub.fetched() == ["FreeSound.z02", "FreeSound.zip"]


def test_a_disk_without_room_for_the_shards_too_is_refused_before_anything_is_fetched(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = sum(map(len, hub.archives.values()))
    free = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free(2 * total - 1))
    with pytest.raises(DownloadError, match="Make room"):
        fetch(tmp_path)
    assert hub.fetched() == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free(2 * total))
    fetch(tmp_path)
