"""Clotho's archives and the MP3 copies unpacked whole or not at all."""

import shutil
import zipfile
from collections import namedtuple
from pathlib import Path

import py7zr
import pytest

from triptych.audio.data.archives import unpack
from triptych.core.errors import InputError

FILES = {" leading space.wav": b"one", "two; and more.wav": b"2" * 5000, "d\u00e9j\u00e0.wav": b"3"}


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with py7zr.SevenZipFile(path, "w") as target:
        for name, data in files.items():
            target.writestr(data, name)
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def refused(source: Path, match: str, files: int | None = None) -> None:
    """Unpacking fails with this message and leaves nothing behind."""
    before = sorted(source.parent.rglob("*"))
    with pytest.raises(InputError, match=match):
        unpack(source, source.parent / "refused", files)
    assert sorted(source.parent.rglob("*")) == before


def test_a_single_folder_around_all_is_left_out(tmp_path: Path) -> None:
    inside = {f"development/{name}": data for name, data in FILES.items()}
    (tmp_path / "target").mkdir()  # as Snakemake may do
    unpack(archive(tmp_path / "a.7z", inside), tmp_path / "target")
    assert content(tmp_path / "target") == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.7z", "target"]


def test_the_parts_of_an_archive_are_read_as_one(tmp_path: Path) -> None:
    """As WavCaps' MP3 copy comes."""
    inside = {f"WavCaps_mp3/{name}": data for name, data in FILES.items()}
    whole = archive(tmp_path / "a.7z", inside)
    data = whole.read_bytes()
    parts = [tmp_path / f"b.7z.{number:03d}" for number in (1, 2, 3)]
    for start, part in zip(range(0, len(data), len(data) // 3 + 1), parts, strict=True):
        part.write_bytes(data[start : start + len(data) // 3 + 1])
    unpack(parts, tmp_path / "target")
    assert content(tmp_path / "target") == FILES
    parts[2].unlink()
    with pytest.raises(InputError, match="not a whole archive"):
        unpack(parts[:2], tmp_path / "other")


def test_zips_are_unpacked_by_the_same_rules(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as target:
        for name, data in FILES.items():
            target.writestr(f"AUDIOCAPS/{name}", data)
    unpack(tmp_path / "a.zip", tmp_path / "target")
    assert content(tmp_path / "target") == FILES
    refused(tmp_path / "a.zip", "2 files expected inside, found 3", files=2)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:-40])
    refused(tmp_path / "cut.zip", "not a whole archive")


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    source = archive(tmp_path / "a.7z", {"a.wav": bytes(range(256)) * 400})
    data = source.read_bytes()
    source.write_bytes(data[: len(data) // 2])
    refused(source, "not a whole archive")


def test_too_little_room_is_noticed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = archive(tmp_path / "a.7z", {"a.wav": bytes(3_000_000)})
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 9, 2_000_000))
    refused(source, "needs 3 MB unpacked, and .* has 2 MB free")
