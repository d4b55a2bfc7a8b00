"""audio_fetch_audiocaps with a yt-dlp that fails as the real one does; its part a shell plays."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
from download_cases import Named, run
from test_full_disk import disk  # noqa: F401

from triptych.audio.data import fetching

CLIPS = 6
CHECKPOINT = Path("results/checkpoints/audio_fetch_audiocaps")
TARGET = Path("results/audio/sound/audiocaps")
REFUSED = "clear error, nothing taken for whole"
LISTED = "listed by name, the others whole"
# What a video does lies beside its sound; `cut` writes half of it first.
STAND_IN = """#!/bin/sh
for argument; do
    case $argument in
        --output=*) output=${argument#--output=} ;;
        https://*) video=${argument##*v=} ;;
    esac
done
sound="${output%.*}.flac"
echo "$video" >> FOLDER/calls
cut() { head -c 20000 FOLDER/sound.flac > "$sound"; }
if [ -f "FOLDER/$video" ]; then . "FOLDER/$video"; fi
cp FOLDER/sound.flac "$sound" 2> FOLDER/said || {
    echo "ERROR: unable to write data: [Errno 28] $(sed 's/.*: //' FOLDER/said)" >&2; exit 1; }
"""
FAULTS = {
    "private video": 'echo "ERROR: [youtube] x: Private video. Sign in" >&2; exit 1',
    "429": 'echo "ERROR: unable to download video data: HTTP Error 429: Too Many" >&2; exit 1',
    "killed in the middle": "cut; kill -9 $$",
    "half a file, and no complaint": "cut; exit 0",
    "no file, and no complaint": "exit 0",
}
SAYS = {
    "private video": "Private video",
    "429": "HTTP Error 429",
    "killed in the middle": "ended by signal 9",
    "half a file, and no complaint": "truncated|damaged",
    "no file, and no complaint": "wrote no file",
}
PASSING = {"429", "killed in the middle", "no file, and no complaint"}


def video(number: int) -> str:
    return f"abc_{number:07d}"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the commands, in an otherwise empty working folder."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    noise = 0.1 * np.random.default_rng(0).standard_normal(320_000)
    soundfile.write(folder / "sound.flac", noise, 32_000)
    for command in ("yt-dlp", "ffmpeg"):
        (folder / command).write_text(STAND_IN.replace("FOLDER", str(folder)))
        (folder / command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(fetching, "FAILURES_IN_A_ROW", 3)
    monkeypatch.chdir(tmp_path)
    return folder


def fetch() -> None:
    table = Path("val.csv")
    rows = [f"{n},{video(n)},30,A dog barks\n" for n in range(CLIPS)]
    table.write_text("audiocap_id,youtube_id,start_time,caption\n" + "".join(rows))
    shutil.rmtree(TARGET, ignore_errors=True)  # as Snakemake does
    run(
        "audio_fetch_audiocaps",
        {"tables": [str(table)]},
        Named(str(TARGET)),
        checkpoint=str(CHECKPOINT),
        code="x",
    )


def whole(numbers: range | list[int]) -> None:
    """These clips are there, each ten seconds long, and nothing else but the list of problems."""
    names = {f"{video(number)}_30.flac" for number in numbers}
    assert {path.name for path in TARGET.iterdir()} == {*names, "problems.csv"}
    for name in names:
        assert soundfile.info(TARGET / name).frames == 320_000


@pytest.mark.parametrize("fault", FAULTS)
def test_a_clip_that_cannot_be_had_is_listed_and_no_half_of_it_kept(
    fault: str, stand_in: Path
) -> None:
    (stand_in / video(2)).write_text(FAULTS[fault])
    fetch()
    whole([0, 1, 3, 4, 5])
    problems = pd.read_csv(TARGET / "problems.csv")
    assert list(problems["clip"]) == [f"audiocaps/val/Y{video(2)}.wav"]
    assert re.search(SAYS[fault], problems["problem"][0])


@pytest.mark.parametrize("fault", sorted(PASSING))
def test_many_failures_in_a_row_end_the_job_and_the_next_goes_on(
    fault: str, stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2, CLIPS):
        (stand_in / video(number)).write_text(FAULTS[fault])
    with pytest.raises(SystemExit):
        fetch()
    said = capsys.readouterr().err
    assert re.search(f"3 clips in a row.*({SAYS[fault]}).*run again later", said)
    assert not TARGET.exists()
    for number in range(2, CLIPS):
        (stand_in / video(number)).unlink()
    (stand_in / "calls").unlink()
    fetch()
    whole(range(CLIPS))
    calls = (stand_in / "calls").read_text().split()
    assert sorted(calls) == [video(number) for number in range(2, CLIPS)]


@pytest.mark.parametrize("command", ["yt-dlp", "ffmpeg"])
def test_a_command_that_is_not_installed_is_named(
    command: str, stand_in: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    (stand_in / command).unlink()
    monkeypatch.setenv("PATH", str(stand_in))
    with pytest.raises(SystemExit):
        fetch()
    said = capsys.readouterr().err
    assert re.search(f"needs {command}, which is not installed here: install with conda", said)
    assert not TARGET.exists()


@pytest.mark.parametrize("pages", [60, 500])
def test_a_full_disk_ends_the_job_and_the_next_goes_on(
    pages: int,
    disk: Callable[[int], None],  # noqa: F811
    stand_in: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before the first clip is there, and after some."""
    monkeypatch.chdir(tmp_path / "disk")
    disk(pages)
    with pytest.raises(SystemExit):
        fetch()
    said = capsys.readouterr().err
    assert re.search("No space left on device.*Make room and run again", said, re.DOTALL), said
    assert not TARGET.exists()
    disk(10_000)
    fetch()
    whole(range(CLIPS))
