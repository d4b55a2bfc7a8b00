"""The scripts that fetch, unpack and convert sound, run as their rules run them."""

from pathlib import Path

import pandas as pd
import py7zr
import pytest
from sound_files import noise, tone, write
from stand_in import Named, run

from triptych.audio.data.shards import ClipStore


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_archive_becomes_shards(tmp_path: Path) -> None:
    with py7zr.SevenZipFile("development.7z", "w") as archive:
        for name in ("a.wav", " b.wav"):
            archive.write(write(tmp_path / name, noise(9000), 44_100), f"development/{name}")
    archive = {"archive": "development.7z"}
    run("audio_unpack_clotho", archive, Named("audio/development"), files=2)
    clips = [("clotho/development/a.wav", "development/a.wav")]
    clips += [("clotho/development/ b.wav", "development/ b.wav")]
    pd.DataFrame(clips, columns=["clip", "path"]).to_csv("clips.csv", index=False)
    run(
        "audio_shard",
        {"clips": "clips.csv"},
        Named("shards"),
        threads=2,
        audio="audio",
        kind="int16",
        checkpoint="results/checkpoints/audio_shard/clotho",
    )
    assert list(ClipStore(["shards"])) == [clip for clip, _ in clips]
    left = sorted(path.name for path in Path("results/checkpoints/audio_shard/clotho").iterdir())
    assert left == ["attempts.log"]


def test_excerpts_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "sound.flac", tone(11, 44_100), 44_100)
    for command in ("yt-dlp", "ffmpeg"):
        (tmp_path / command).write_text(
            "#!/bin/sh\nfor argument; do case $argument in --output=*) output=${argument#*=};; "
            f"esac; done\ncp {tmp_path}/sound.flac ${{output%.*}}.flac\n"
        )
        (tmp_path / command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    Path("test.csv").write_text("audiocap_id,youtube_id,start_time,caption\n1,abcdefghijk,5,Rain\n")
    tables = {"tables": ["test.csv"]}
    run("audio_fetch_audiocaps", tables, Named("audio"), threads=2, checkpoint="checkpoint")
    assert sorted(path.name for path in Path("audio").iterdir()) == [
        "abcdefghijk_5.flac",
        "problems.csv",
    ]
