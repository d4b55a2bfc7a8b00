"""Wrong sounds, indices and models: refused or skipped by name, odd sounds read right."""

import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
import torch
from download_server import Behaviour, serving
from sandbox import Sandbox, Trap, trap
from stand_in import Named

from triptych.audio.data.shards import ClipStore

RATE = 32_000
SECOND = np.arange(RATE) / RATE


def tone(rate: int = RATE, hertz: float = 440.0) -> np.ndarray:
    """A second of a sine, at half of full scale."""
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(rate) / rate)


def six_channels(path: Path) -> None:
    """96 kHz, 24 bits, six channels of different loudness whose mean is `tone`."""
    parts = np.array([0.0, 1.8, 0.6, 1.5, 0.3, 1.8])
    soundfile.write(path, tone(96_000)[:, None] * parts, 96_000, subtype="PCM_24")


def odd_frames(path: Path, **header: int) -> None:
    """A wav whose header tells another number under one of its keys."""
    soundfile.write(path, tone(), RATE, subtype="PCM_16")
    data = bytearray(path.read_bytes())
    for key, value in header.items():
        at = {"channels": 22, "rate": 24}[key]
        data[at : at + (2 if key == "channels" else 4)] = value.to_bytes(
            2 if key == "channels" else 4, "little"
        )
    path.write_bytes(data)


def cut(path: Path, share: float = 0.5) -> None:
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 3 * RATE), RATE)
    os.truncate(path, int(path.stat().st_size * share))


def not_numbers(path: Path, value: float) -> None:
    samples = tone()
    samples[500] = value
    soundfile.write(path, samples, RATE, subtype="FLOAT")


BROKEN = {
    "zero frames.wav": (lambda path: soundfile.write(path, np.zeros(0), RATE), "no samples"),
    "zero bytes.flac": (lambda path: path.write_bytes(b""), "empty file"),
    "cut.wav": (cut, "truncated"),
    "cut.flac": (cut, "truncated"),
    "cut.ogg": (lambda path: cut(path, 0.02), "not sound"),
    "nan.wav": (lambda path: not_numbers(path, np.nan), "not numbers"),
    "inf.wav": (lambda path: not_numbers(path, np.inf), "not numbers"),
    "page.mp3": (lambda path: path.write_text("<html>404</html>" * 99), "not sound"),
    "one hertz.wav": (lambda path: odd_frames(path, rate=1), "1 samples a second"),
    "four gigahertz.wav": (lambda path: odd_frames(path, rate=2**32 - 1), "not sound"),
    "no channels.wav": (lambda path: odd_frames(path, channels=0), "not sound"),
    "leads nowhere.wav": (lambda path: path.symlink_to("gone.wav"), "no such file"),
    "pickle.wav": (lambda path: trap(path.parent, path.name), "not sound"),
}
GOOD = (
    "plain.wav",
    "two  words.wav",
    "caf\u00e9 \u96e8.flac",
    "two\nlines.wav",
    "six channels.flac",
)


@pytest.fixture
def sounds(sandbox: Sandbox) -> Path:
    """A folder with each broken file and each good one."""
    folder = sandbox.here / "sounds"
    folder.mkdir()
    for name, (make, _) in BROKEN.items():
        make(folder / name)
    for name in GOOD:
        if name.startswith("six"):
            six_channels(folder / name)
        else:
            soundfile.write(folder / name, tone(), RATE)
    return folder


@pytest.mark.parametrize("kind", ["int16", "flac"])
def test_broken_clips_are_listed_each_with_its_reason_and_the_others_kept(sandbox, sounds, kind):
    (sounds / "folder.wav").mkdir()
    paths = [*BROKEN, *GOOD, "folder.wav", "absent.wav"]
    paths.sort()
    table = pd.DataFrame({"clip": [f"toy/{path}" for path in paths], "path": paths})
    table.to_csv("clips.csv", index=False)
    checkpoint = "results/checkpoints/audio_shard"
    output = Named("results/shards")
    sandbox.rule(
        "audio_shard",
        {"clips": "clips.csv"},
        output,
        audio="sounds",
        kind=kind,
        checkpoint=checkpoint,
    )
    store = ClipStore(["results/shards"])
    assert sorted(store) == sorted(f"toy/{name}" for name in GOOD)
    for clip in store:  # odd or plain, the same sound
        heard = store.read(clip)
        assert abs(len(heard) - RATE) <= 1
        assert np.abs(heard[:-1] - tone()[: len(heard) - 1])[2000:-2000].max() < 2e-4
    problems = pd.read_csv("results/shards/problems.csv").set_index("clip")["problem"]
    said = {name: word for name, (_, word) in BROKEN.items()}
    said |= {"folder.wav": "no such file", "absent.wav": "no such file"}
    assert sorted(problems.index) == sorted(f"toy/{name}" for name in said)
    for name, word in said.items():
        assert word in problems[f"toy/{name}"] and name in problems[f"toy/{name}"]
    sandbox.check()


def test_where_no_clip_is_sound_the_first_is_told(sandbox, sounds):
    pd.DataFrame({"clip": ["toy/cut.wav"], "path": ["cut.wav"]}).to_csv("clips.csv", index=False)
    sandbox.refuses(
        "audio_shard",
        {"clips": "clips.csv"},
        Named("results/shards"),
        "none of 1 clips",
        "cut.wav: truncated",
        audio="sounds",
        kind="int16",
        checkpoint="results/checkpoints/x",
    )
    folder = {"audio": "plain.wav", "kind": "int16", "checkpoint": "results/checkpoints/x"}
    sandbox.refuses(
        "audio_shard", {"clips": "clips.csv"}, Named("results/shards"), "no such folder", **folder
    )


class Loudness:
    """Stands for search's model: how loud a sound is at 440 Hz and elsewhere."""

    batch_seconds = 4.0

    def __init__(self, *given: object) -> None: ...

    def sounds(self, waveforms) -> np.ndarray:
        rows = []
        for waveform in waveforms:
            spectrum = np.abs(np.fft.rfft(waveform, RATE))
            rows.append([spectrum[430:450].sum(), spectrum[450:].sum() + 1e-9])
        rows = np.array(rows)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def write_text(self, model_sha256: str, folder: Path) -> None:
        """None: what is searched for here is a sound."""


@pytest.fixture
def model(sandbox, monkeypatch) -> Path:
    module = types.ModuleType("triptych.apps.sounds.search.embedder")
    module.Embedder = Loudness
    monkeypatch.setitem(sys.modules, module.__name__, module)
    folder = sandbox.here / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    about = {"about": {"sources": {"clotho": "download"}}, "settings": {"segment_seconds": 10}}
    (folder / "model.json").write_text(json.dumps(about))
    return folder


def test_an_index_of_a_folder_leaves_broken_sounds_out_by_name(
    sandbox,
    sounds,
    model,
):
    undecodable = os.fsdecode(b"caf\xe9.wav")
    soundfile.write(sounds / "latin.wav", tone(), RATE)
    (sounds / "latin.wav").rename(sounds / undecodable)
    code, printed, said = sandbox.triptych("index", "sounds", "--model", model)
    assert code == 0 and f"{len(BROKEN) + 1} skipped" in printed
    assert "skipped caf\\udce9.wav: its name is not valid" in said
    for name, (_, word) in BROKEN.items():
        (line,) = [line for line in said.splitlines() if line.startswith(f"skipped {name}: ")]
        assert word in line.lower()
    code, printed, _ = sandbox.triptych(
        "search", "--like", "sounds/plain.wav", "--index", "sounds", "--json", "-n", 99
    )
    found = {Path(each["file"]).name: each["score"] for each in json.loads(printed)}
    assert set(found) == set(GOOD)
    assert max(found.values()) - min(found.values()) < 1e-3  # six channels as one
    sandbox.check("sounds/triptych-index.")


def zipped(path: Path, **arrays: np.ndarray) -> None:
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


INDICES = {
    "a pickle": lambda path: trap(path.parent, path.name),
    "a pickle within": lambda path: zipped(path, record=np.array([Trap(path.parent / "sprung")])),
    "another table": lambda path: zipped(path, x=np.zeros(3)),
    "zero bytes": lambda path: path.write_bytes(b""),
    "a page": lambda path: path.write_text("<html></html>"),
    "a folder": lambda path: path.mkdir(),
    "text as JSON": lambda path: zipped(
        path, record=np.frombuffer(b"[" * 100_000, np.uint8), embeddings=np.zeros((0, 0))
    ),
}


@pytest.mark.parametrize("kind", INDICES)
def test_a_wrong_index_is_refused_by_both_commands(sandbox, sounds, model, kind):
    INDICES[kind](sandbox.here / "i.npz")
    for arguments in (["index", "sounds", "--model", model], ["search", "rain"]):
        if kind != "a folder" or arguments[0] == "index":
            sandbox.command_refuses(*arguments, "--index", "i.npz", said=("i.npz", "--rebuild"))
    assert not list(sandbox.around.rglob("sprung*"))
    sandbox.check()


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"about": 3}', "[" * 100_000])
def test_a_model_that_says_nothing_of_itself_is_refused(sandbox, sounds, model, said):
    (model / "model.json").write_text(said)
    arguments = ("index", "sounds", "--model", model)
    sandbox.command_refuses(*arguments, said=(str(model), "not a trained model"))


@pytest.mark.parametrize("torch_form", [False, True])
def test_a_pickle_offered_as_passt_is_refused_and_not_run(sandbox, torch_form):
    path, sprung = trap(sandbox.here, "offered.pt")
    if torch_form:
        torch.save({"cls_token": Trap(sprung)}, path)
    size = path.stat().st_size
    with serving(Behaviour(path.read_bytes())) as url:
        sandbox.refuses(
            "audio_download_passt",
            {},
            Named("results/audio/weights/passt_n.safetensors"),
            "passt_n.pt",
            "system",
            "expected the published checkpoint",
            variant="passt_n",
            url=url,
            size=size,
            sha256=None,
            lock="results/lock.json",
        )
    assert not sprung.exists()
    sandbox.check()
