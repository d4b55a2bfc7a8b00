"""Zip archives in several parts, read without joining them."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sound_files import noise, read_audio, write
from split_zip_writer import write_split_zip

from triptych.audio.data.audio_sources import open_audio
from triptych.audio.data.shard_writing import write_shards
from triptych.audio.data.shards import ClipStore
from triptych.audio.data.split_zip import DamagedMember, SplitZip
from triptych.core.errors import InputError

INNER = "mnt/fast/nobackup/WavCaps/data/waveforms"


def members(count: int = 12) -> dict[str, bytes]:
    """Files of random bytes, a long run of zeros, an empty one, and names that need care."""
    random = np.random.default_rng(0)
    made = {f"deep/er/{i}.flac": random.bytes(int(random.integers(1, 900))) for i in range(count)}
    return made | {
        "deep/zeros.flac": bytes(5000),
        "deep/empty.flac": b"",
        " leading space.flac": b"first",
        "d\u00e9j\u00e0 vu.flac": b"second",
    }


def read(archive: Path) -> dict[str, bytes]:
    opened = SplitZip(archive)
    return {name: b"".join(opened.stream(name)) for name in opened.members}


@pytest.mark.parametrize("deflate", [False, True], ids=["stored", "deflated"])
@pytest.mark.parametrize("wide", [False, True], ids=["32-bit", "64-bit"])
@pytest.mark.parametrize("part_bytes", [53, 700, None])
def test_members_come_out_as_they_went_in(
    tmp_path: Path, part_bytes: int | None, wide: bool, deflate: bool
) -> None:
    paths = write_split_zip(tmp_path / "X.zip", members(), part_bytes, deflate, wide)
    assert (len(paths) > 1) == (part_bytes is not None)
    assert read(tmp_path / "X.zip") == members()


@pytest.mark.skipif(shutil.which("zip") is None, reason="Info-ZIP's zip is not installed")
@pytest.mark.parametrize("options", [["-0"], ["-9", "-fz"]], ids="".join)
def test_what_info_zip_splits_is_read(tmp_path: Path, options: list[str]) -> None:
    random = np.random.default_rng(0)
    made = members() | {f"deep/large {n}.flac": random.bytes(40_000 + 9_000 * n) for n in range(6)}
    for name, content in made.items():
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).write_bytes(content)
    command = ["zip", "-q", "-r", *options, "-s", "64k", "../X.zip", "."]
    subprocess.run(command, cwd=tmp_path / "files", check=True)
    assert (tmp_path / "X.z03").exists()
    assert read(tmp_path / "X.zip") == made


def test_absent_parts_are_named_and_a_last_part_that_is_none_is_refused(tmp_path: Path) -> None:
    paths = write_split_zip(tmp_path / "X.zip", members(), 2000)
    for number in (2, 4):
        paths[number - 1].unlink()
    with pytest.raises(InputError, match=r"of which X\.z02, X\.z04 are not beside it"):
        SplitZip(tmp_path / "X.zip")
    for content in (b"", b"<html>no such file</html>" * 100, b"PK\x05\x06cut"):
        (tmp_path / "X.zip").write_bytes(content)
        with pytest.raises(InputError, match="not the last part of a zip archive"):
            SplitZip(tmp_path / "X.zip")


@pytest.mark.parametrize("deflate", [False, True], ids=["stored", "deflated"])
def test_changed_bytes_are_noticed_and_the_part_is_named(tmp_path: Path, deflate: bool) -> None:
    made = members()
    write_split_zip(tmp_path / "X.zip", made, 2000, deflate)
    data = bytearray((tmp_path / "X.z01").read_bytes())
    at = data.index(b"deep/er/1.flac") + 60
    data[at : at + 40] = bytes(value ^ 0x55 for value in data[at : at + 40])
    (tmp_path / "X.z01").write_bytes(data)
    archive = SplitZip(tmp_path / "X.zip")
    with pytest.raises(DamagedMember, match=r"deep/er/1\.flac is damaged .* X\.z01"):
        list(archive.stream("deep/er/1.flac"))
    assert b"".join(archive.stream("deep/er/9.flac")) == made["deep/er/9.flac"]


def test_shards_are_made_from_the_parts_as_they_are_but_for_what_is_damaged(tmp_path: Path) -> None:
    files = {}
    for number in range(4):
        path = write(tmp_path / f"{number}.flac", noise(9000, number), 32_000)
        files[f"{INNER}/FreeSound_flac/{number}.flac"] = path.read_bytes()
    archive = tmp_path / "hub/Zip_files/FreeSound/FreeSound.zip"
    *_, part, _, _ = write_split_zip(archive, files, 5000)
    part.write_bytes(part.read_bytes()[:-50] + bytes(50))
    names = ["2.flac", "0.flac", "1.flac", "3.flac", "77.flac"]
    clips = pd.DataFrame({"clip": names, "path": [f"{INNER}/FreeSound_flac/{n}" for n in names]})
    source, target = open_audio(tmp_path / "hub"), tmp_path / "shards"
    write_shards(clips, source, target, "flac", checkpoint=tmp_path / "room", threads=2)
    store = ClipStore([target])
    for clip in store:
        np.testing.assert_array_equal(store.read(clip), read_audio(tmp_path / clip))
    problems = pd.read_csv(target / "problems.csv")["problem"]
    assert len(list(store)) == 3 and len(problems) == 2
    assert re.search(r"is damaged .*FreeSound\.z\d\d", problems[0])
    assert re.search(r"77\.flac is not in the archives", problems[1])
    other = clips.head(1).assign(path=f"{INNER}/BBC_flac/1.flac")
    with pytest.raises(InputError, match=r"belongs into the archive .*BBC\.zip"):
        write_shards(other, source, tmp_path / "more", "int16", checkpoint=tmp_path / "room")
