"""Wrong sounds, indices and models: refused or skipped by name; no pickle is run."""

import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
from pytest import approx
from sandbox import Sandbox, Trap, trap
from small_sounds import PitchModel
from stand_in import Named

from triptych.apps.sounds.search.index import read_index
from triptych.audio.data.shards import ClipStore

RATE = 32_000
TONE = 0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)


def cut(path: Path, share: float = 0.5) -> None:
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 3 * RATE), RATE)
    os.truncate(path, int(path.stat().st_size * share))


def told_longer(path: Path) -> None:
    """A header of 4 GB, which no program writes that only doesn't know how much will come."""
    soundfile.write(path, TONE, RATE)
    data = bytearray(path.read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = (4_000_000_000).to_bytes(4, "little")
    path.write_bytes(data)


def not_numbers(path: Path) -> None:
    soundfile.write(path, np.where(np.arange(RATE) == 500, np.nan, TONE), RATE, subtype="FLOAT")


BROKEN = {
    "zero frames.wav": (lambda path: soundfile.write(path, np.zeros(0), RATE), "no samples"),
    "zero bytes.flac": (lambda path: path.write_bytes(b""), "empty file"),
    "cut.wav": (cut, "truncated"),
    "cut.ogg": (lambda path: cut(path, 0.02), "not sound"),
    "cut.flac": (cut, "truncated"),
    "4 GB.wav": (told_longer, "truncated, 1.0 s of 62500.0 s are there"),
    "page.mp3": (lambda path: path.write_text("<html>404</html>" * 9), "begins '<html>404</"),
    "text.m4a": (lambda path: path.write_text("no sound"), "a text, which begins 'no sound'"),
    "leads nowhere.wav": (lambda path: path.symlink_to("gone.wav"), "no such file"),
    "pickle.wav": (lambda path: trap(path.parent, path.name), "not sound"),
}
IN_PART = {"cut.wav", "cut.flac", "4 GB.wav"}
"""What a search hears the beginning of."""
GOOD = ("plain.wav", "caf\u00e9 \u96e8.flac", "two\nlines.wav")
WITH_SILENCE = "nan.wav"
"""What has samples that are no numbers: silence is there."""


@pytest.fixture
def sounds(sandbox: Sandbox) -> Path:
    """A folder with each broken file and each good one."""
    folder = sandbox.here / "sounds"
    folder.mkdir()
    for name, (make, _) in BROKEN.items():
        make(folder / name)
    for name in GOOD:
        soundfile.write(folder / name, TONE, RATE)
    not_numbers(folder / WITH_SILENCE)
    return folder


def test_broken_clips_are_listed_each_with_its_reason_and_the_others_kept(sandbox, sounds):
    (sounds / "folder.wav").mkdir()
    paths = sorted([*BROKEN, *GOOD, WITH_SILENCE, "folder.wav", "absent.wav"])
    table = pd.DataFrame({"clip": [f"toy/{path}" for path in paths], "path": paths})
    table.to_csv("clips.csv", index=False)
    params = {"audio": "sounds", "kind": "int16", "checkpoint": "results/checkpoints/audio_shard"}
    sandbox.rule("audio_shard", {"clips": "clips.csv"}, Named("results/shards"), **params)
    store = ClipStore(["results/shards"])
    assert sorted(store) == sorted(f"toy/{name}" for name in (*GOOD, WITH_SILENCE))
    problems = pd.read_csv("results/shards/problems.csv").set_index("clip")["problem"]
    said = {name: word for name, (_, word) in BROKEN.items()}
    said |= {"folder.wav": "no such file", "absent.wav": "no such file"}
    assert sorted(problems.index) == sorted(f"toy/{name}" for name in said)
    for name, word in said.items():
        assert word in problems[f"toy/{name}"] and name in problems[f"toy/{name}"]
    sandbox.check()


@pytest.fixture
def model(sandbox, monkeypatch) -> Path:
    module = types.ModuleType("triptych.apps.sounds.search.embedder")
    module.load_embedder = lambda folder, device: PitchModel()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    folder = sandbox.here / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    about = {"about": {"sources": {"clotho": "download"}}, "settings": {"segment_seconds": 10}}
    (folder / "model.json").write_text(json.dumps(about))
    return folder


def test_an_index_of_a_folder_leaves_broken_sounds_out_by_name(sandbox, sounds, model):
    soundfile.write(sounds / "latin.wav", TONE, RATE)
    (sounds / "latin.wav").rename(sounds / os.fsdecode(b"caf\xe9.wav"))
    code, printed, said = sandbox.triptych("index", "sounds", "--model", model)
    assert code == 2 and f"{len(BROKEN) - len(IN_PART)} skipped" in printed
    for name, (_, word) in BROKEN.items():
        (line,) = [line for line in said.splitlines() if f" {name}: " in line]
        assert line.startswith("indexed in part" if name in IN_PART else "skipped")
        assert word in line.lower()
    arguments = ("search", "--like", "sounds/plain.wav", "--index", "sounds", "--json", "-n", 99)
    _, printed, _ = sandbox.triptych(*arguments)
    copies = os.fsdecode(b"caf\xe9.wav")  # of plain.wav and another one
    assert {Path(each["file"]).name for each in json.loads(printed)} == {
        *IN_PART,
        GOOD[1],
        WITH_SILENCE,
        copies,
    }
    index = read_index("sounds/triptych-index.npz")
    seconds = {entry.path: entry.seconds for entry in index.entries if entry.path in IN_PART}
    assert seconds == approx({"cut.wav": 1.5, "cut.flac": 1.25, "4 GB.wav": 1}, abs=0.25)
    sandbox.check("sounds/triptych-index.", "sounds/.triptych-index.lock")


def zipped(path: Path, **arrays: np.ndarray) -> None:
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


INDICES = {
    "a pickle within": lambda path: zipped(path, record=np.array([Trap(path.parent / "sprung")])),
    "another table": lambda path: zipped(path, x=np.zeros(3)),
    "a page": lambda path: path.write_text("<html></html>"),
}


@pytest.mark.parametrize("kind", INDICES)
def test_a_wrong_index_is_refused_by_both_commands(sandbox, sounds, model, kind):
    INDICES[kind](sandbox.here / "i.npz")
    for arguments in (["index", "sounds", "--model", model], ["search", "rain"]):
        sandbox.command_refuses(*arguments, "--index", "i.npz", said=("i.npz", "--rebuild"))
    assert not list(sandbox.around.rglob("sprung*"))
    sandbox.check(".i.lock")
