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
    """A .zip or .7z of files by their names."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as target:
            for name, data in files.items():
                target.writestr(name, data)
    else:
        with py7zr.SevenZipFile(path, "w") as packed:
            for name, data in files.items():
                packed.writestr(data, name)
    return path


def content(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def refused(source: Path, match: str, files: int | None = None) -> None:
    """Unpacking fails with this message and leaves nothing behind."""
    before = sorted(source.parent.rglob("*"))
    with pytest.raises(InputError, match=match):
        unpack(source, source.parent / "refused", files)
    assert sorted(source.parent.rglob("*")) == before


@pytest.mark.parametrize("suffix", ["7z", "zip"])
def test_a_single_folder_around_all_is_left_out_and_what_is_not_whole_refused(
    tmp_path: Path, suffix: str
) -> None:
    inside = {f"development/{name}": data for name, data in FILES.items()}
    source = archive(tmp_path / f"a.{suffix}", inside)
    (tmp_path / "target").mkdir()  # as Snakemake may do
    unpack(source, tmp_path / "target")
    assert content(tmp_path / "target") == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == [source.name, "target"]
    refused(source, "2 files expected inside, found 3", files=2)
    source.write_bytes(source.read_bytes()[:-40])
    refused(source, "not a whole archive")


def test_the_parts_of_an_archive_are_read_as_one(tmp_path: Path) -> None:
    """As WavCaps' MP3 copy comes."""
    inside = {f"WavCaps_mp3/{name}": data for name, data in FILES.items()}
    data = archive(tmp_path / "a.7z", inside).read_bytes()
    parts = [tmp_path / f"b.7z.{number:03d}" for number in (1, 2, 3)]
    size = len(data) // 3 + 1
    for number, part in enumerate(parts):
        part.write_bytes(data[number * size : (number + 1) * size])
    unpack(parts, tmp_path / "target")
    assert content(tmp_path / "target") == FILES
    parts[2].unlink()
    with pytest.raises(InputError, match="not a whole archive"):
        unpack(parts[:2], tmp_path / "other")


def test_too_little_room_is_noticed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = archive(tmp_path / "a.7z", {"a.wav": bytes(3_000_000)})
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 9, 2_000_000))
    refused(source, "needs 3 MB unpacked, and .* has 2 MB free")
