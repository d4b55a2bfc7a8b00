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

import numpy as np
import py7zr
import pytest
import soundfile
from download_cases import Case, Named, cases, failure, nothing_is_taken_for_whole, run
from download_server import Behaviour, served

from triptych.audio.data.shard_files import write_sound

CASES = {case.name: case for case in cases() if case.knows != "list"}
PAGE = 4096
REFUSED = "clear error, nothing taken for whole"
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


def pages(content: bytes) -> int:
    return -(-len(content) // PAGE)


def source(case: Case) -> bytes:
    """The file that the disk is too small for."""
    return next(data for path, data in case.files.items() if case.disturbed in path)


def held(case: Case) -> int:
    """Pages of what a rule has fetched before that file, and of its log and its notes."""
    earlier = {
        "SoundBible.z02": ("SoundBible.z01",),
        "model.safetensors": ("config.json", "tokenizer.json", "tokenizer_config.json"),
        "tokenizer.json": ("config.json",),
    }.get(case.disturbed, ())
    return 4 + sum(
        pages(data) for path, data in case.files.items() if path.rpartition("/")[2] in earlier
    )


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
    name: str, way: str, disk: Resize, address: str, behaviour: Behaviour, capsys
) -> None:
    case = CASES[name]
    behaviour.files, behaviour.disturbed = case.files, case.disturbed
    begun = way == "filled by another" or (way == "not told" and case.knows != "size")
    if way == "filled by another":
        behaviour.always = served(pieces=3, pause=0.05, meanwhile=filler())
    else:
        disk(held(case) + pages(source(case)) // 2)
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
    assert case.product()
    if case.rule not in ("style_download_weights", "audio_download_passt"):  # those convert
        assert set(case.product().values()) <= set(case.files.values())
    if begun:
        ranges = [request.get("Range", "") for request in behaviour.requests]
        assert any(re.fullmatch(r"bytes=[1-9]\d*-", each) for each in ranges)


@pytest.mark.parametrize("name", ["style_download_weights (.pth)", "audio_download_passt (.pt)"])
def test_weights_that_find_no_room_when_converted_are_not_fetched_again(
    name: str, disk: Resize, address: str, behaviour: Behaviour, capsys
) -> None:
    case = CASES[name]
    behaviour.files = case.files
    disk(4 + pages(source(case)))
    said = failure(case, address, capsys)
    assert re.search("No space left on device.*Make room and run again", said, re.DOTALL), said
    nothing_is_taken_for_whole(case)
    disk(1024)
    behaviour.requests.clear()
    case.run(address)
    assert case.product()
    assert behaviour.requests[0]["Range"] == f"bytes={len(source(case))}-"


def test_an_archive_that_does_not_fit_is_unpacked_when_there_is_room(
    disk: Resize, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Many small files take more than their sizes, so that the check beforehand lets them pass."""
    archive, target = tmp_path / "clotho_audio_validation.7z", Path("results/sound/validation")
    sounds = {f"{n}.wav": b"RIFF%d" % n for n in range(100)}
    with py7zr.SevenZipFile(archive, "w") as stream:
        for name, content in sounds.items():
            stream.writestr(content, f"validation/{name}")

    def unpack() -> None:
        params = {"files": len(sounds), "code": "x"}
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


@pytest.mark.parametrize("kind", ["WAV", "FLAC"])
def test_a_sound_is_written_whole_or_not_at_all(kind: str, disk: Resize) -> None:
    """Also where only its last bytes find no room, of which libsndfile says nothing."""
    samples = (3000 * np.random.default_rng(0).standard_normal(60_000)).astype(np.int16)
    soundfile.write("plain", samples, 32_000, format=kind, subtype="PCM_16")
    plain = Path("plain").read_bytes()
    Path("plain").unlink()
    for room in range(pages(plain) - 8, pages(plain)):
        disk(room)
        with pytest.raises(OSError, match="No space left"):
            write_sound("sound", samples, 32_000, kind)
        Path("sound").unlink()
    disk(pages(plain))
    write_sound("sound", samples, 32_000, kind)
    assert Path("sound").read_bytes() == plain
    assert len(soundfile.read("sound")[0]) == len(samples)
