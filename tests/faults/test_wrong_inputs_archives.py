"""Wrong archives: nothing is written where they say, and what is damaged is refused by name."""

import stat
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import py7zr
import pytest
import soundfile
from stand_in import Named

from triptych.audio.data.shards import ClipStore

SOUND = np.random.default_rng(0).normal(0, 0.1, 9000)


def archived(path: Path, *members: tuple[str, bytes, int | None]) -> Path:
    """A 7z archive of members (name, content, Unix mode), whatever these say."""
    with py7zr.SevenZipFile(path, "w") as archive:
        for number, (_, content, _) in enumerate(members):
            archive.writestr(content, f"{number}.wav")
        for entry, (name, _, mode) in zip(archive.header.files_info.files, members, strict=True):
            entry["filename"] = name
            if mode is not None:
                entry["attributes"] = 0x8000 | mode << 16
    return path


def plain(name: str) -> tuple[str, bytes, None]:
    return name, b"evil", None


LINK = stat.S_IFLNK | 0o777
ARCHIVES = {
    "leads up": ([plain("../evil.wav")], "outside"),
    "leads up from within": ([plain("a/../../evil.wav")], "outside"),
    "absolute": ([plain("/tmp/evil.wav")], "outside"),
    "of another system": ([plain("..\\evil.wav")], "outside"),
    "with a drive": ([plain("C:\\evil.wav")], "outside"),
    "with a colon": ([plain("a:b.wav")], "outside"),
    "a link and a file through it": (
        [("way", b"../home", LINK), ("way/evil.wav", b"evil", None)],
        "'way' is a link",
    ),
    "a link to a file": ([("a.wav", b"/etc/passwd", LINK)], "is a link"),
    "a device": ([("a.wav", b"", stat.S_IFCHR | 0o666)], "a device"),
    "a disk": ([("a.wav", b"", stat.S_IFBLK | 0o666)], "a device"),
    "a pipe": ([("a.wav", b"evil", stat.S_IFIFO | 0o666)], "a device"),
    "a socket": ([("a.wav", b"evil", stat.S_IFSOCK | 0o666)], "a device"),
    "a file twice": ([plain("a.wav"), plain("a.wav")], "twice"),
    "a file as folder": ([plain("a"), plain("a/b.wav")], "cannot be unpacked"),
    "no name": ([plain("")], "not a whole"),
    "a name too long": ([plain("a" * 300)], "too long"),
    "emptiness by the gigabyte": ([("a.wav", bytes(20_000_000), None)], "don't shrink so far"),
    "a file too many": ([plain("a.wav"), plain("b.wav"), plain("c.wav")], "2 files expected"),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_archive_that_reaches_out_is_refused_and_leaves_nothing(sandbox, kind):
    members, said = ARCHIVES[kind]
    archived(sandbox.here / "development.7z", *members)
    files = 2 if kind == "a file too many" else None
    output = Named("results/audio/development")
    given = {"archive": "development.7z"}
    sandbox.refuses("audio_unpack_clotho", given, output, "development.7z", said, files=files)
    sandbox.check()
    assert not list(sandbox.around.rglob("evil*"))


def test_more_files_than_any_archive_has_are_refused(sandbox, monkeypatch):
    monkeypatch.setattr("triptych.audio.data.archives.MOST_FILES", 3)
    archived(sandbox.here / "many.7z", *(plain(f"{number}.wav") for number in range(4)))
    output = Named("results/audio/development")
    given = {"archive": "many.7z"}
    sandbox.refuses("audio_unpack_clotho", given, output, "holds 4 files, expected", files=None)


def test_what_is_unpacked_may_be_read_and_has_no_special_bits(sandbox):
    modes = {"suid.wav": 0o4777, "closed.wav": 0, "open.wav": 0o666, "a\nb\\c.wav": 0o644}
    members = [(name, b"x" * 99, stat.S_IFREG | mode) for name, mode in modes.items()]
    archived(sandbox.here / "a.7z", *members)
    sandbox.rule("audio_unpack_clotho", {"archive": "a.7z"}, Named("results/a"), files=4)
    files = [path for path in Path("results/a").rglob("*") if path.is_file()]
    assert len(files) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}
    sandbox.check()


def wavcaps(folder: Path, members: dict[str, bytes], links: tuple[str, ...] = ()) -> str:
    """A part of WavCaps in its archive; where a clip's sound lies in it."""
    inside = "data/SoundBible_flac"
    archive = folder / "Zip_files" / "SoundBible" / "SoundBible.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        for name, content in members.items():
            about = zipfile.ZipInfo(name if "/" in name else f"{inside}/{name}")
            about.compress_type = zipfile.ZIP_DEFLATED
            if name in links:
                about.external_attr = (stat.S_IFLNK | 0o777) << 16
            stream.writestr(about, content)
    return inside


def test_nothing_in_wavcaps_archives_is_written_where_it_says(
    sandbox,
):
    soundfile.write(sandbox.around / "good.flac", SOUND, 32_000)
    good = (sandbox.around / "good.flac").read_bytes()
    members = {
        "good.flac": good,
        "../../../up.flac": good,
        "/tmp/absolute.flac": good,
        "x/..\\back.flac": good,
        "link.flac": b"/etc/passwd",
        "zeros.flac": bytes(5_000_000),
    }
    inside = wavcaps(sandbox.here / "hub", members, ("link.flac",))
    archive = sandbox.here / "hub/Zip_files/SoundBible/SoundBible.zip"
    data = bytearray(archive.read_bytes())
    at = data.rindex(b"zeros.flac") - len(inside) - 1 - 46 + 24
    data[at : at + 4] = (1000).to_bytes(4, "little")  # it claims to be small, and isn't
    archive.write_bytes(data)
    names = ["good.flac", "up.flac", "absolute.flac", "link.flac", "zeros.flac", "absent.flac"]
    table = {"clip": names, "path": [f"{inside}/{name}" for name in names]}
    pd.DataFrame(table).to_csv("clips.csv", index=False)
    sandbox.rule(
        "audio_shard",
        {"clips": "clips.csv"},
        Named("results/shards"),
        audio="hub",
        kind="flac",
        checkpoint="results/checkpoints/x",
    )
    problems = pd.read_csv("results/shards/problems.csv").set_index("clip")["problem"]
    assert list(ClipStore(["results/shards"])) == ["good.flac", "up.flac", "absolute.flac"]
    assert "not sound" in problems["link.flac"]
    assert "more than its 1000 bytes" in problems["zeros.flac"]
    assert "not in the archives" in problems["absent.flac"]
    sandbox.check()


def test_a_number_of_parts_in_the_billions_is_refused_at_once(
    sandbox,
):
    inside = wavcaps(sandbox.here / "hub", {"a.flac": b"x"})
    archive = sandbox.here / "hub/Zip_files/SoundBible/SoundBible.zip"
    data = archive.read_bytes()
    locator = b"PK\x06\x07" + bytes(12) + (2**32 - 1).to_bytes(4, "little")
    archive.write_bytes(data[:-22] + locator + data[-22:])
    table = pd.DataFrame({"clip": ["a"], "path": [f"{inside}/a.flac"]})
    table.to_csv("clips.csv", index=False)
    sandbox.refuses(
        "audio_shard",
        {"clips": "clips.csv"},
        Named("results/shards"),
        "SoundBible.zip",
        "4294967295 parts",
        "fetch it again",
        audio="hub",
        kind="flac",
        checkpoint="results/checkpoints/x",
    )
