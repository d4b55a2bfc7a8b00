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
    "leads up from within": [plain("a/../../evil.wav")],
    "of another system": [plain("..\\evil.wav")],
    "a link and a file through it": [("way", b"../home", LINK), plain("way/evil.wav")],
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_archive_that_reaches_out_is_refused_and_leaves_nothing(sandbox, kind):
    archived(sandbox.here / "development.7z", *ARCHIVES[kind])
    output = Named("results/audio/development")
    given = {"archives": ["development.7z"]}
    said = "not a whole archive"
    sandbox.refuses("audio_unpack", given, output, "development.7z", said, files=None)
    sandbox.check()
    assert not list(sandbox.around.rglob("evil*"))
