"""WavCaps' archives from a server that speaks as much of the hub's protocol as that needs."""

import hashlib
import json
import shutil
import threading
from collections import namedtuple
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from split_zip_writer import write_split_zip

from triptych.audio.data import hub_archives as module
from triptych.audio.data.audio_sources import open_audio
from triptych.audio.data.hub_archives import download_part, list_archives
from triptych.core.download import DownloadError

REPOSITORY, REVISION = "someone/sounds", "0123456789abcdef0123456789abcdef01234567"
FOLDER = "Zip_files/FreeSound"


class Hub:
    """Files by name; `cut` says after how many bytes the next answer for a file breaks off."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.listed = files, dict(files)
        self.cut: dict[str, int] = {}
        self.broken: set[str] = set()
        self.asked: list[tuple[str, str]] = []

    def tree(self) -> bytes:
        entries = [{"type": "directory", "path": f"{FOLDER}/more", "oid": "0" * 40}]
        for name, data in self.listed.items():
            large = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}
            entries.append(
                {
                    "type": "file",
                    "path": f"{FOLDER}/{name}",
                    "oid": "0" * 40,
                    "size": len(data),
                    "lfs": {**large, "pointerSize": 130},
                }
            )
        return json.dumps(entries).encode()


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        name = path.rpartition("/")[2]
        if path == f"/api/datasets/{REPOSITORY}/tree/{REVISION}/{FOLDER}":
            self.answer(200, self.hub.tree())
        elif (
            path == f"/datasets/{REPOSITORY}/resolve/{REVISION}/{FOLDER}/{name}"
            and name not in self.hub.broken
        ):
            data, wanted = self.hub.files[name], self.headers.get("Range", "")
            self.hub.asked.append((name, wanted))
            start = int(wanted[6:-1]) if wanted else 0
            self.answer(206 if wanted else 200, data[start:], start, self.hub.cut.pop(name, None))
        else:
            self.answer(404, b"{}")

    def answer(self, code: int, body: bytes, start: int = 0, cut: int | None = None) -> None:
        self.send_response(code)
        if code == 206:
            end = start + len(body)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut])
        self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An archive of two full parts and a last one."""
    random = np.random.default_rng(0)
    inside = {f"mnt/FreeSound_flac/{n}.flac": random.bytes(120_000) for n in range(5)}
    paths = write_split_zip(tmp_path / "made" / "FreeSound.zip", inside, 250_000)
    hub = Hub({path.name: path.read_bytes() for path in reversed(paths)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(module, "download", partial(module.download, attempts=1, wait_seconds=0.01))
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield hub
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(tmp_path: Path) -> Path:
    target = tmp_path / "hub" / FOLDER
    download_part(REPOSITORY, REVISION, "FreeSound", target, tmp_path / "checkpoint")
    return target


def test_archives_are_listed_in_order_with_the_directory_last(hub: Hub) -> None:
    archives = list_archives(REPOSITORY, REVISION, "FreeSound")
    assert [archive.name for archive in archives] == [
        "FreeSound.z01",
        "FreeSound.z02",
        "FreeSound.zip",
    ]
    assert [archive.size for archive in archives][:2] == [250_000] * 2


def test_a_part_is_fetched_whole_and_can_be_read(hub: Hub, tmp_path: Path) -> None:
    target = fetch(tmp_path)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == hub.files
    with open_audio(tmp_path / "hub").local("FreeSound_flac/3.flac", tmp_path) as sound:
        assert sound.stat().st_size == 120_000


def test_finished_archives_are_not_fetched_again_after_a_failure(hub: Hub, tmp_path: Path) -> None:
    hub.broken = {"FreeSound.z02"}
    with pytest.raises(DownloadError, match="404"):
        fetch(tmp_path)
    assert not (tmp_path / "hub").exists()
    hub.broken = set()
    hub.asked.clear()
    fetch(tmp_path)
    assert hub.asked == [("FreeSound.z02", ""), ("FreeSound.zip", "")]


def test_a_later_attempt_goes_on_in_the_middle_of_an_archive(hub: Hub, tmp_path: Path) -> None:
    hub.cut["FreeSound.z02"] = 200_000
    with pytest.raises(DownloadError, match="run again later"):
        fetch(tmp_path)
    hub.asked.clear()
    target = fetch(tmp_path)
    # A cut connection may lose its last chunk (CHUNK_BYTES of core.download).
    assert hub.asked == [("FreeSound.z02", "bytes=196608-"), ("FreeSound.zip", "")]
    assert {path.name: path.read_bytes() for path in target.iterdir()} == hub.files


def test_an_archive_that_is_not_what_the_hub_says_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.files["FreeSound.z02"] = bytes(len(hub.files["FreeSound.z02"]))
    with pytest.raises(DownloadError, match="expected sha256"):
        fetch(tmp_path)


@pytest.mark.parametrize("absent", ["FreeSound.z01", "FreeSound.zip"])
def test_a_list_with_a_gap_is_refused_before_anything_is_fetched(
    hub: Hub, tmp_path: Path, absent: str
) -> None:
    del hub.listed[absent]
    with pytest.raises(DownloadError, match=f"{FOLDER}.*missing: {absent}"):
        fetch(tmp_path)
    assert hub.asked == []


def test_too_little_room_is_noticed_before(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 9, 100_000))
    with pytest.raises(DownloadError, match="GB are still to come"):
        fetch(tmp_path)
    assert hub.asked == []


def test_a_hub_that_does_not_know_the_part_is_named(hub: Hub) -> None:
    with pytest.raises(DownloadError, match="Zip_files/Nothing"):
        list_archives(REPOSITORY, REVISION, "Nothing")
