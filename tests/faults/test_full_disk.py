"""Downloads and archives on a disk that is too small: a real one, of memory (tmpfs).

Each rule's working folder, logs and all, lies on it. Afterwards there is room, and a second run
ends in the right files.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import py7zr
import pytest
from download_cases import Named, cases, failure, nothing_is_taken_for_whole, run
from download_server import served

CASES = {case.name: case for case in cases() if case.name in ("rl_download", "audio_download")}
PAGE = 4096
Resize = Callable[[int], None]


@pytest.fixture
def disk(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Resize]:
    """The working folder is a disk of its own, of as many pages of 4 kB as it is told to have."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={64 * PAGE}", "triptych-test", str(folder)]
    mount = subprocess.run(command, capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"a disk to fill can't be mounted here: {mount.stderr.strip()}")
    monkeypatch.chdir(folder)

    def resize(pages: int) -> None:
        size = f"remount,size={pages * PAGE}"
        subprocess.run(["mount", "-o", size, str(folder)], check=True)

    yield resize
    os.chdir(tmp_path)
    subprocess.run(["umount", str(folder)], check=True)


def filler() -> Callable[[], None]:
    """What leaves no room on the disk, once."""
    times = iter([1])

    def fill() -> None:
        if next(times, 0):
            with suppress(OSError), Path("filler").open("ab", buffering=0) as stream:
                while stream.write(bytes(PAGE)):
                    pass

    return fill


@pytest.mark.parametrize("way", ["told before", "not told", "filled by another"])
@pytest.mark.parametrize("name", CASES)
def test_a_download_that_a_full_disk_ends_goes_on_when_there_is_room(
    name, way, disk, address, behaviour, capsys
):
    case = CASES[name]
    behaviour.files = case.files
    begun = way == "filled by another" or (way == "not told" and case.knows != "size")
    if way == "filled by another":
        behaviour.always = served(pieces=3, pause=0.05, meanwhile=filler())
    else:
        disk(4 + len(next(iter(case.files.values()))) // PAGE // 2)
        behaviour.always = served(chunked=way == "not told")
    said = failure(case, address, capsys)
    says = r"\.part: No space left on device\. " if begun else "B are still to come and .* free.*"
    assert re.search(f"{says}[Mm]ake room", said, re.DOTALL), said
    Path("filler").unlink(missing_ok=True)
    nothing_is_taken_for_whole(case)
    disk(1024)
    behaviour.behave()
    behaviour.requests.clear()
    case.run(address)
    assert set(case.product().values()) == set(case.files.values())
    if begun:
        ranges = [request.get("Range", "") for request in behaviour.requests]
        assert any(re.fullmatch(r"bytes=[1-9]\d*-", each) for each in ranges)


def test_an_archive_that_does_not_fit_is_unpacked_when_there_is_room(disk, capsys, tmp_path):
    """Many small files take more than their sizes, so that the check beforehand lets them pass."""
    archive, target = tmp_path / "clotho_audio_validation.7z", Path("results/sound/validation")
    sounds = {f"{n}.wav": b"RIFF%d" % n for n in range(100)}
    with py7zr.SevenZipFile(archive, "w") as stream:
        for name, content in sounds.items():
            stream.writestr(content, f"validation/{name}")

    def unpack() -> None:
        params = {"files": len(sounds), "code": {}}
        run("audio_unpack_clotho", {"archive": archive}, Named(target), **params)

    disk(40)
    with pytest.raises(SystemExit):
        unpack()
    said = capsys.readouterr().err
    assert re.search(f"{archive.name} .*{target}.*No space left.*[Mm]ake room", said, re.DOTALL)
    left = [path for path in Path("results").rglob("*") if not {"logs", "leases"} & {*path.parts}]
    assert left == [target.parent]
    disk(1024)
    unpack()
    assert {path.name: path.read_bytes() for path in target.iterdir()} == sounds
