"""The scripts that fetch, unpack and convert sound, run as their rules run them."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import py7zr
import pytest
from sound_files import noise, tone, write

from triptych.audio.data.shards import ClipStore

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"


class Named(list):
    """Snakemake's lists, whose entries have names too."""

    def __init__(self, **named: object) -> None:
        super().__init__(named.values())
        self.__dict__.update(named)
        self.items, self.get = named.items, named.get


def run(rule: str, given: dict[str, object], output: str, **params: object) -> None:
    snakemake = SimpleNamespace(
        rule=rule,
        input=Named(**given),
        output=Named(output=output),
        params=Named(**params),
        log=[f"results/logs/{rule}/log.log"],
        wildcards=Named(),
        threads=2,
    )
    runpy.run_path(str(SCRIPTS / f"{rule}.py"), init_globals={"snakemake": snakemake})


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_archive_becomes_shards(tmp_path: Path) -> None:
    with py7zr.SevenZipFile("development.7z", "w") as archive:
        for name in ("a.wav", " b.wav"):
            archive.write(write(tmp_path / name, noise(9000), 44_100), f"development/{name}")
    run("audio_unpack_clotho", {"archive": "development.7z"}, "audio/development", files=2)
    clips = [("clotho/development/a.wav", "development/a.wav")]
    clips += [("clotho/development/ b.wav", "development/ b.wav")]
    pd.DataFrame(clips, columns=["clip", "path"]).to_csv("clips.csv", index=False)
    run(
        "audio_shard",
        {"clips": "clips.csv"},
        "shards",
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
    run("audio_fetch_audiocaps", {"tables": ["test.csv"]}, "audio", checkpoint="checkpoint")
    assert sorted(path.name for path in Path("audio").iterdir()) == [
        "abcdefghijk_5.flac",
        "problems.csv",
    ]
