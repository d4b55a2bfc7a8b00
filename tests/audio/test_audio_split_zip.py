"""Zip archives in several parts, read without joining them."""

import os
import re
import shutil
import subprocess
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sound_files import noise, write
from split_zip_writer import write_split_zip

from triptych.audio.data.decoding import read_audio
from triptych.audio.data.shards import ClipStore, write_shards
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
@pytest.mark.parametrize("part_bytes", [53, 700, 4096, None])
def test_members_come_out_as_they_went_in(
    tmp_path: Path, part_bytes: int | None, wide: bool, deflate: bool
) -> None:
    paths = write_split_zip(tmp_path / "X.zip", members(), part_bytes, deflate, wide)
    assert (len(paths) > 1) == (part_bytes is not None)
    assert read(tmp_path / "X.zip") == members()


def test_more_than_99_parts_and_a_comment_are_read(tmp_path: Path) -> None:
    paths = write_split_zip(tmp_path / "X.zip", members(), 53, comment=b"PK and more")
    assert tmp_path / "X.z100" in paths
    assert read(tmp_path / "X.zip") == members()


@pytest.mark.skipif(shutil.which("zip") is None, reason="Info-ZIP's zip is not installed")
@pytest.mark.parametrize("options", [["-0"], ["-9"], ["-0", "-fz"], ["-9", "-fz"]], ids="".join)
@pytest.mark.parametrize("split", [["-s", "64k"], []], ids=["parts", "single"])
def test_what_info_zip_splits_is_read(tmp_path: Path, options: list[str], split: list[str]) -> None:
    random, made = np.random.default_rng(0), members()
    for number in range(6):
        made[f"deep/large {number}.flac"] = random.bytes(int(random.integers(40_000, 90_000)))
    for name, content in made.items():
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).write_bytes(content)
    subprocess.run(
        ["zip", "-q", "-r", *options, *split, "../X.zip", "."], cwd=tmp_path / "files", check=True
    )
    assert (tmp_path / "X.z03").exists() == bool(split)
    assert read(tmp_path / "X.zip") == made


def test_absent_parts_are_named(tmp_path: Path) -> None:
    write_split_zip(tmp_path / "X.zip", members(), 2000)
    (tmp_path / "X.z02").unlink()
    (tmp_path / "X.z04").unlink()
    with pytest.raises(InputError, match=r"of which X\.z02, X\.z04 are not beside it"):
        SplitZip(tmp_path / "X.zip")


@pytest.mark.parametrize("missing", [1, 800])
@pytest.mark.parametrize("part", ["X.z01", "X.z03"])
def test_a_short_part_is_named(tmp_path: Path, part: str, missing: int) -> None:
    write_split_zip(tmp_path / "X.zip", members(), 2000)
    os.truncate(tmp_path / part, 2000 - missing)
    with pytest.raises(InputError, match=f"bytes are missing in .*{part}"):
        SplitZip(tmp_path / "X.zip")


@pytest.mark.parametrize("content", [b"", b"<html>no such file</html>" * 100])
def test_a_last_part_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "X.zip").write_bytes(content)
    with pytest.raises(InputError, match="not the last part of a zip archive"):
        SplitZip(tmp_path / "X.zip")


def test_a_last_part_that_was_cut_is_refused(tmp_path: Path) -> None:
    write_split_zip(tmp_path / "X.zip", members(), 2000)
    os.truncate(tmp_path / "X.zip", (tmp_path / "X.zip").stat().st_size - 5)
    with pytest.raises(InputError, match="cut short"):
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


def test_methods_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "X.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.flac", b"a" * 1000)
    with pytest.raises(DamagedMember, match=r"a\.flac is compressed by method 12"):
        list(SplitZip(tmp_path / "X.zip").stream("a.flac"))


@pytest.mark.parametrize("deflate", [False, True], ids=["stored", "deflated"])
def test_a_large_member_is_streamed(tmp_path: Path, deflate: bool) -> None:
    part_bytes = 10_000 if deflate else 7_000_000
    write_split_zip(tmp_path / "X.zip", {"a.flac": bytes(30_000_000)}, part_bytes, deflate)
    archive = SplitZip(tmp_path / "X.zip")
    tracemalloc.start()
    assert sum(map(len, archive.stream("a.flac"))) == 30_000_000
    assert tracemalloc.get_traced_memory()[1] < 6_000_000
    tracemalloc.stop()


@pytest.fixture
def wavcaps(tmp_path: Path) -> Path:
    """Two parts of a toy WavCaps in its repository's layout, one damaged clip among them."""
    files: dict[str, bytes] = {}
    for part in ("FreeSound", "SoundBible"):
        for number in range(4):
            path = write(tmp_path / part / f"{number}.flac", noise(9000, number), 32_000)
            files[f"{INNER}/{part}_flac/{number}.flac"] = path.read_bytes()
    for part, size in (("FreeSound", 5000), ("SoundBible", None)):
        inside = {name: data for name, data in files.items() if part in name}
        write_split_zip(tmp_path / f"hub/Zip_files/{part}/{part}.zip", inside, size)
    return tmp_path


def listed(wavcaps: Path, part: str, numbers: list[int]) -> pd.DataFrame:
    names = [f"{number}.flac" for number in numbers]
    return pd.DataFrame(
        {
            "clip": [f"wavcaps/{part}/{name}" for name in names],
            "path": [f"{INNER}/{part}_flac/{name}" for name in names],
        }
    )


def test_shards_are_made_from_the_parts_as_they_are(wavcaps: Path) -> None:
    clips = pd.concat([listed(wavcaps, part, [2, 0]) for part in ("FreeSound", "SoundBible")])
    write_shards(clips, wavcaps / "hub", wavcaps / "shards", "flac", threads=2)
    store = ClipStore([wavcaps / "shards"])
    assert list(store) == clips["clip"].tolist()
    for clip in store:
        _, part, name = clip.split("/")
        np.testing.assert_array_equal(store.read(clip), read_audio(wavcaps / part / name))
    names = {path.suffix for path in (wavcaps / "shards").iterdir()}
    assert names == {".csv", ".flacs"}


def test_a_damaged_or_absent_member_is_a_problem_of_that_clip(wavcaps: Path) -> None:
    part = wavcaps / "hub/Zip_files/FreeSound/FreeSound.z02"
    part.write_bytes(part.read_bytes()[:-50] + bytes(50))
    clips = listed(wavcaps, "FreeSound", [0, 1, 2, 3, 77])
    write_shards(clips, wavcaps / "hub", wavcaps / "shards", "int16")
    problems = pd.read_csv(wavcaps / "shards" / "problems.csv")
    assert len(problems) == 2
    assert re.search(r"is damaged .*FreeSound\.z0", problems["problem"][0])
    assert re.search(r"77\.flac is not in the archives", problems["problem"][1])
    assert len(ClipStore([wavcaps / "shards"])) == 3


def test_an_incomplete_archive_stops_only_those_who_want_it(wavcaps: Path) -> None:
    (wavcaps / "hub/Zip_files/FreeSound/FreeSound.z03").unlink()
    write_shards(listed(wavcaps, "SoundBible", [1]), wavcaps / "hub", wavcaps / "shards", "int16")
    with pytest.raises(InputError, match=r"FreeSound\.z03"):
        write_shards(listed(wavcaps, "FreeSound", [1]), wavcaps / "hub", wavcaps / "more", "int16")
    with pytest.raises(InputError, match=r"belongs into the archive .*BBC\.zip"):
        write_shards(listed(wavcaps, "BBC", [1]), wavcaps / "hub", wavcaps / "more", "int16")
