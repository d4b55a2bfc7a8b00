"""The commands triptych index and triptych search, with a made-up model."""

import argparse
import json
import shutil
import signal
import sys
import types
from pathlib import Path

import pandas as pd
import pytest
from small_sounds import PitchModel, write_sound

from triptych.apps.sounds.commands import add_commands
from triptych.apps.sounds.search import trained
from triptych.core.errors import InputError


@pytest.fixture(autouse=True)
def handlers():
    """The commands catch SIGINT and SIGTERM; the tests' process is to keep its own."""
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in kept:
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def model(monkeypatch) -> list[PitchModel]:
    made: list[PitchModel] = []

    def embedder(folder: Path, device: str) -> PitchModel:
        made.append(PitchModel())
        return made[-1]

    module = types.ModuleType("triptych.apps.sounds.search.embedder")
    module.Embedder = embedder
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return made


@pytest.fixture
def weights(tmp_path) -> Path:
    return write_weights(tmp_path / "model", b"one")


@pytest.fixture
def sounds(tmp_path) -> Path:
    for pitch in ("low", "middle", "high"):
        write_sound(tmp_path / "sounds" / f"{pitch}.wav", pitch)
    return tmp_path / "sounds"


def write_weights(folder: Path, content: bytes, source: str = "download") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(content)
    said = {"about": {"sources": {"clotho": source, "wavcaps": "none"}}}
    said["settings"] = {"segment_seconds": 10}
    (folder / "model.json").write_text(json.dumps(said))
    return folder


def triptych(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    options = parser.parse_args([str(argument) for argument in arguments])
    return options.run(options)


def test_index_then_search_names_the_file(sounds, weights, capsys):
    assert triptych("index", sounds, "--model", weights) == 0
    assert "3 files in 3 segments of 10 s (3 new" in capsys.readouterr().out
    assert triptych("search", "something high", "--index", sounds, "-n", 2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1].endswith("high.wav")


def test_where_nothing_is_new_no_model_is_loaded(sounds, weights, model):
    triptych("index", sounds, "--model", weights)
    assert triptych("index", sounds) == 0
    assert len(model) == 1


def test_another_model_is_refused_until_the_index_is_rebuilt(sounds, weights, tmp_path, model):
    other = write_weights(tmp_path / "other", b"two")
    triptych("index", sounds, "--model", weights)
    for command in (["index", sounds], ["search", "low", "--index", sounds]):
        with pytest.raises(InputError, match=r"another model.*--rebuild"):
            triptych(*command, "--model", other)
    assert triptych("index", sounds, "--model", other, "--rebuild") == 0
    assert len(model[-1].heard) == 3
    assert triptych("search", "low", "--index", sounds) == 0


def test_a_model_trained_again_since_is_noticed_where_it_is_needed(sounds, weights, tmp_path):
    triptych("index", sounds, "--model", weights)
    write_weights(weights, b"trained again")
    assert triptych("search", "low", "--index", sounds) == 0  # the text side is the index's own
    other = write_sound(tmp_path / "clip.wav", "low", 1.5)
    with pytest.raises(InputError, match="than what lies in"):
        triptych("search", "--like", other, "--index", sounds)


def test_a_model_that_moved_may_be_given(sounds, weights, tmp_path):
    triptych("index", sounds, "--model", weights)
    weights.rename(tmp_path / "moved")
    other = write_sound(tmp_path / "clip.wav", "low", 1.5)
    with pytest.raises(InputError, match="which is gone"):
        triptych("search", "--like", other, "--index", sounds)
    like = ("search", "--like", other, "--index", sounds, "--model", tmp_path / "moved")
    assert triptych(*like) == 0


def test_a_sound_finds_what_resembles_it(sounds, weights, tmp_path, model, capsys):
    triptych("index", sounds, "--model", weights)
    capsys.readouterr()
    other = write_sound(tmp_path / "clip.wav", "high", 13.0)
    assert triptych("search", "--like", other, "--index", sounds) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("high.wav")
    loaded = len(model)
    own = ("search", "--like", sounds / "middle.wav", "- low", "--index", sounds, "--json")
    assert triptych(*own) == 0
    assert json.loads(capsys.readouterr().out)[0]["file"].endswith("middle.wav")
    assert len(model) == loaded  # what is in the index has been heard already


@pytest.mark.parametrize("harm", ["remove", "foreign", "cut"])
def test_a_text_side_that_cannot_be_used_is_told_with_what_to_do(sounds, weights, harm):
    triptych("index", sounds, "--model", weights)
    folder = sounds / "triptych-index.text"
    if harm == "remove":
        shutil.rmtree(folder)
    elif harm == "foreign":
        (folder / "text.json").write_text('{"model_sha256": "0", "cleans": true, "longest": 3}')
    else:
        (folder / "text.onnx").write_bytes(b"ONNX")
    with pytest.raises(InputError, match=r"text side.* run triptych\s+index"):
        triptych("search", "low", "--index", sounds)
    if harm == "cut":
        shutil.rmtree(folder)
    triptych("index", sounds)
    assert triptych("search", "low", "--index", sounds) == 0


def test_one_index_is_of_one_folder(sounds, weights, tmp_path):
    place = tmp_path / "my.npz"
    triptych("index", sounds, "--model", weights, "--index", place)
    other = write_sound(tmp_path / "others" / "a.wav", "low").parent
    with pytest.raises(InputError, match="is the index of"):
        triptych("index", other, "--index", place)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["index", "absent"], "not a folder"),
        (["index", "empty"], "no sound files"),
        (["index", "sounds", "--index", "x.csv"], r"\*\.npz"),
        (["index", "sounds", "--model", "empty"], "no trained model.*make demo"),
        (["search", "rain", "--index", "sounds"], "make one with triptych index"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(sounds, monkeypatch, command, said):
    monkeypatch.chdir(sounds.parent)
    (sounds.parent / "empty").mkdir()
    with pytest.raises(InputError, match=said):
        triptych(*command)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([" "], "TEXT is empty"),
        (["+", "-"], "TEXT is empty"),
        (["low", "-", "low"], "cancel out"),
        (["--like", "absent.wav"], "no such file"),
        (["--like", "/dev/zero"], "a device"),
    ],
)
def test_a_query_that_asks_for_nothing_is_refused(sounds, weights, asked, said):
    triptych("index", sounds, "--model", weights)
    with pytest.raises(InputError, match=said):
        triptych("search", *asked, "--index", sounds)


def results(root: Path) -> None:
    """metrics.csv with four models, the weights of all but the best one."""
    rows = [
        ("pretrained", "n", "bert", "leaky", "", "0", "model", "validation", "0.9"),
        ("finetuned", "n", "bert", "clean", "human", "0", "model", "validation", "0.5"),
        ("finetuned", "s", "bert", "clean", "gpt", "1", "model", "validation", "0.6"),
        ("finetuned", "n", "bert", "clean", "gpt", "0", "model", "validation", "0.7"),
        ("finetuned", "n", "bert", "clean", "human", "0", "model", "evaluation", "0.8"),
        ("", "published", "", "", "", "", "ensemble", "validation", "0.95"),
    ]
    keys = ["stage", "audio_model", "text_model", "corpus", "captions", "seed", "system"]
    table = pd.DataFrame(rows, columns=[*keys, "split", "value"])
    table = table.assign(subset="all", relevance="single", metric="map_at_10")
    (root / trained.SCORES).parent.mkdir(parents=True)
    table.to_csv(root / trained.SCORES, index=False)
    for folder in ("n-bert/leaky/pretrained", "n-bert/clean/finetuned/human-seed0"):
        write_weights(root / trained.MODELS / folder, b"x")
    write_weights(root / trained.MODELS / "s-bert/clean/finetuned/gpt-seed1", b"y")


def test_the_default_is_the_best_fine_tuned_model_that_is_there(tmp_path, monkeypatch):
    results(tmp_path)
    monkeypatch.chdir(tmp_path)
    folder, said = trained.best_model()
    assert folder.relative_to(tmp_path).as_posix() == (
        "results/audio/models/s-bert/clean/finetuned/gpt-seed1"
    )
    assert "0.600" in said


SLOW = ("torch", "transformers", "pandas", "scipy", "sklearn")
"""Libraries that take long to import."""


def imported(code: str, *arguments: object) -> str:
    """Which of SLOW, and whether NumPy, a process has imported that runs the code."""
    import subprocess

    told = f"print([m for m in {('numpy', *SLOW)} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; {told}", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": "workflow_scripts"},
    )
    return done.stdout.splitlines()[-1]


def test_helps_import_neither_torch_nor_models():
    code = (
        "import argparse; from triptych.apps.sounds.commands import add_commands;"
        "add_commands(argparse.ArgumentParser().add_subparsers())"
    )
    assert imported(code) == "[]"


def test_a_search_imports_nothing_that_takes_long(sounds, weights):
    triptych("index", sounds, "--model", weights)
    code = "from triptych.cli import main; main(sys.argv[1:])"
    assert imported(code, "search", "low", "--index", sounds) == "['numpy']"
