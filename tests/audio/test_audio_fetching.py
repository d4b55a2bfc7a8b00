"""AudioCaps' sound by yt-dlp, of which a stand-in plays all parts."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
from sound_files import cut, noise, tone, write

from triptych.audio.data import fetching as module
from triptych.audio.data.decoding import read_audio
from triptych.audio.data.fetching import Excerpt, fetch_youtube, read_excerpts
from triptych.core.errors import InputError

# Copies the file of the video's id to where it is asked for, or fails with that video's message.
STAND_IN = """#!/bin/sh
for argument; do
    case $argument in
        --output=*) output=${argument#--output=} ;;
        --download-sections=*) section=${argument#--download-sections=} ;;
        --audio-format=*) suffix=${argument#--audio-format=} ;;
        https://*) video=${argument##*v=} ;;
    esac
done
echo "$video $section" >> FOLDER/calls
if [ -f "FOLDER/$video.error" ]; then
    cat "FOLDER/$video.error" >&2
    exit 1
fi
cp "FOLDER/$video.flac" "${output%.*}.$suffix"
"""
GONE = (
    "ERROR: [youtube] x: Video unavailable",
    "WARNING: nothing\nERROR: [youtube] x: Private video. Sign in if you've been granted access",
    "ERROR: [youtube] x: This video has been removed by the uploader",
    "ERROR: [youtube] x: Video unavailable. This video is no longer available because the YouTube "
    "account associated with this video has been terminated.",
    "ERROR: [youtube] x: Sign in to confirm your age. This video may be inappropriate",
)
PASSING = (
    "ERROR: [youtube] x: Sign in to confirm you're not a bot. Use --cookies",
    "ERROR: unable to download video data: HTTP Error 429: Too Many Requests",
    "ERROR: [youtube] x: Video unavailable. This content isn't available, try again later.",
    "ERROR: [youtube] x: Unable to download API page: HTTP Error 503: Service Unavailable",
    "",
)


class Videos:
    """What the stand-in knows, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, video: str, seconds: float = 10.2, rate: int = 48_000) -> None:
        self.fine(video)
        write(self.folder / f"{video}.flac", np.stack([tone(seconds, rate)] * 2, axis=1), rate)

    def fail(self, video: str, message: str) -> None:
        (self.folder / f"{video}.error").write_text(message + "\n")

    def fine(self, video: str) -> None:
        (self.folder / f"{video}.error").unlink(missing_ok=True)

    def calls(self) -> list[str]:
        """`video section` of each call since the last look."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(lines)


@pytest.fixture
def videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Videos:
    folder = tmp_path / "stand-in"
    folder.mkdir()
    for command in ("yt-dlp", "ffmpeg"):
        script = folder / command
        script.write_text(STAND_IN.replace("FOLDER", str(folder)))
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Videos(folder)


def video(number: int) -> str:
    return f"-a_b{number:07d}"


def excerpt(number: int, start: int = 30) -> Excerpt:
    return Excerpt(f"audiocaps/train/Y{video(number)}.wav", video(number), start)


def fetch(tmp_path: Path, numbers: list[int], **settings: Any) -> Path:
    target = tmp_path / "audio"
    fetch_youtube(
        [excerpt(number) for number in numbers],
        target,
        tmp_path / "checkpoint",
        **{"connections": 2, **settings},
    )
    return target


def problems(target: Path) -> dict[str, str]:
    table = pd.read_csv(target / "problems.csv", dtype=str)
    return dict(zip(table["clip"], table["problem"], strict=True))


def test_ten_seconds_from_the_start_are_asked_for_and_written(
    tmp_path: Path, videos: Videos
) -> None:
    videos.add(video(1))
    target = fetch(tmp_path, [1])
    assert videos.calls() == [f"{video(1)} *30-40"]
    file = soundfile.info(target / f"{video(1)}_30.flac")
    assert (file.samplerate, file.channels, file.frames) == (32_000, 1, 320_000)
    difference = read_audio(target / f"{video(1)}_30.flac") - tone(10, 32_000)
    assert np.abs(difference[3200:-3200]).max() < 1e-3
    assert problems(target) == {}


def test_a_file_that_is_no_whole_sound_is_listed(tmp_path: Path, videos: Videos) -> None:
    videos.add(video(1))
    write(videos.folder / f"{video(2)}.flac", noise(400_000), 32_000)
    cut(videos.folder / f"{video(2)}.flac")
    assert "truncated" in problems(fetch(tmp_path, [1, 2]))[excerpt(2).clip]


@pytest.mark.parametrize("message", PASSING)
def test_what_may_pass_is_tried_again_by_the_next_run_and_the_dead_are_not(
    tmp_path: Path, videos: Videos, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FAILURES_IN_A_ROW", 2)
    for number in (1, 4, 5):
        videos.add(video(number))
    videos.fail(video(2), GONE[0])
    for number in (4, 5):
        videos.fail(video(number), message)
    with pytest.raises(InputError, match=r"2 clips in a row .* run again later"):
        fetch(tmp_path, [1, 2, 4, 5], connections=1)
    assert not (tmp_path / "audio").exists()
    videos.calls()
    (tmp_path / "checkpoint" / "clips" / ".partial-of-a-killed-run").mkdir()
    for number in (4, 5):
        videos.fine(video(number))
    target = fetch(tmp_path, [1, 2, 4, 5])
    assert videos.calls() == [f"{video(number)} *30-40" for number in (4, 5)]
    assert len(list(target.iterdir())) == 4  # three clips and the list of problems
    assert list(problems(target)) == [excerpt(2).clip]


def test_an_answer_that_does_not_come_is_given_up(
    tmp_path: Path, videos: Videos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 0.5)
    videos.add(video(1))
    script = videos.folder / "yt-dlp"
    slow = script.read_text().replace("cp ", f'[ "$video" = "{video(2)}" ] && exec sleep 30\ncp ')
    script.write_text(slow)
    assert "no answer" in problems(fetch(tmp_path, [1, 2]))[excerpt(2).clip]


def test_nothing_at_all_is_an_error(tmp_path: Path, videos: Videos) -> None:
    videos.fail(video(1), GONE[0])
    with pytest.raises(InputError, match=r"none of the 1 clips .*Video unavailable"):
        fetch(tmp_path, [1])


def test_the_excerpts_of_audiocaps_tables_are_each_clip_once(tmp_path: Path) -> None:
    (tmp_path / "val.csv").write_text(
        "audiocap_id,youtube_id,start_time,caption\n"
        f"1,{video(1)},30,A dog barks\n2,{video(2)},0,Rain\n3,{video(1)},30,Barking\n"
    )
    assert read_excerpts([tmp_path / "val.csv"]) == [
        Excerpt(f"audiocaps/val/Y{video(1)}.wav", video(1), 30),
        Excerpt(f"audiocaps/val/Y{video(2)}.wav", video(2), 0),
    ]
    (tmp_path / "val.csv").write_text(f"youtube_id,start_time\n{video(1)},x; rm -r\n")
    with pytest.raises(InputError, match="expected a YouTube id"):
        read_excerpts([tmp_path / "val.csv"])
