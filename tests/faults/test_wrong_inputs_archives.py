"""Hostile archives: refused by name, and nothing is written where they say."""

import stat
from pathlib import Path

import py7zr
import pytest
from stand_in import Named


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
    "leads up from within": ([plain("a/../../evil.wav")], "outside"),
    "of another system": ([plain("..\\evil.wav")], "outside"),
    "a link and a file through it": (
        [("way", b"../home", LINK), ("way/evil.wav", b"evil", None)],
        "'way' is a link",
    ),
    "a device": ([("a.wav", b"", stat.S_IFCHR | 0o666)], "a device"),
    "a file twice": ([plain("a.wav"), plain("a.wav")], "twice"),
    "emptiness by the gigabyte": ([("a.wav", bytes(20_000_000), None)], "don't shrink so far"),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_archive_that_reaches_out_is_refused_and_leaves_nothing(sandbox, kind):
    members, said = ARCHIVES[kind]
    archived(sandbox.here / "development.7z", *members)
    output = Named("results/audio/development")
    given = {"archive": "development.7z"}
    sandbox.refuses("audio_unpack_clotho", given, output, "development.7z", said, files=None)
    sandbox.check()
    assert not list(sandbox.around.rglob("evil*"))
