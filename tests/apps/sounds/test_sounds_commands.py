"""The commands triptych index and triptych search, with a made-up model."""

import argparse
import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from small_sounds import PitchModel, tone, write_sound, write_words
from tokenizers import Tokenizer, models, pre_tokenizers

from triptych.apps.sounds.commands import add_commands
from triptych.apps.sounds.search.index import NAME, read_index
from triptych.apps.sounds.search.trained import CAUTION, TextSide
from triptych.cli import main
from triptych.core.errors import InputError


@pytest.fixture(autouse=True)
def model(monkeypatch) -> list[PitchModel]:
    made: list[PitchModel] = []

    def embedder(folder: Path, device: str) -> PitchModel:
        made.append(PitchModel())
        return made[-1]

    module = types.ModuleType("triptych.apps.sounds.search.embedder")
    module.load_embedder = embedder
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


@pytest.fixture
def indexed(sounds, weights, capsys) -> Path:
    """A folder with a long recording, too: 6 segments of low tones, one of a middle one, 6 low."""
    walk = np.concatenate([tone("low", 60), tone("middle", 10), tone("low", 60)])
    (sounds / "day").mkdir()
    soundfile.write(sounds / "day" / "walk.wav", walk, 44100)
    assert triptych("index", sounds, "--model", weights) == 0
    capsys.readouterr()
    return sounds


def test_queries_of_a_file_are_answered_one_by_one(indexed, tmp_path, capsys):
    (tmp_path / "wanted.txt").write_bytes('\ufefflow\r\n\r\n middle, "high"\r\n'.encode())
    call = ("search", "--queries", tmp_path / "wanted.txt", "--index", indexed, "-n", 5)
    assert triptych(*call, "--json") == 0
    records = json.loads(capsys.readouterr().out)
    assert [one["query"] for one in records] == 5 * ["low"] + 5 * ['middle, "high"']
    alone = {}
    for query in ("low", 'middle, "high"'):
        triptych("search", query, "--index", indexed, "-n", 5, "--json")
        alone[query] = json.loads(capsys.readouterr().out)
    assert records == [one for own in alone.values() for one in own]
    places = {"score": 4, "start": 3, "end": 3}
    assert all(one[name] == round(one[name], at) for one in records for name, at in places.items())
    assert triptych(*call, "--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows == [{name: str(value) for name, value in one.items()} for one in records]
    assert triptych(*call) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 * (2 + 5) + 1
    (tmp_path / "wanted.txt").write_bytes(b"\xff\n")
    with pytest.raises(InputError, match=r"wanted\.txt: .*utf-8"):
        triptych(*call)


def test_of_a_long_file_more_hits_are_had_and_the_rest_is_counted(indexed, capsys):
    call = ("search", "low", "--index", indexed, "-n", 20, "--json")
    for limit, shown in ((None, 3), (1, 1), (5, 5), (20, 6)):
        assert triptych(*call, *(["--per-file", limit] if limit else [])) == 0
        said = capsys.readouterr()
        hits = [hit for hit in json.loads(said.out) if hit["file"].endswith("walk.wav")]
        assert len(hits) == shown  # segments that touch a better one are none
        assert (f"{shown} of 13 segments" in said.err) == (limit is None)


def test_labels_are_those_that_audacity_reads(indexed, tmp_path, capsys):
    (tmp_path / "wanted.txt").write_text("middle\nlow\ttone\n")
    call = ("search", "--queries", tmp_path / "wanted.txt", "--index", indexed, "-n", 2)
    assert triptych(*call, "--per-file", 1, "--labels", tmp_path / "labels") == 0
    track = (tmp_path / "labels" / "day" / "walk.wav.txt").read_text().splitlines()
    times = [line.split("\t") for line in track]
    assert ["60.000000", "70.000000", "middle"] in times and len(times) == 2
    assert all(len(fields) == 3 for fields in times)
    assert {path.name for path in (tmp_path / "labels").rglob("*.txt")} == {
        *("walk.wav.txt", "low.wav.txt", "middle.wav.txt")
    }
    with pytest.raises(InputError, match="exists"):
        triptych(*call, "--labels", tmp_path / "labels")


@pytest.mark.parametrize(
    ("query", "doubted"),
    [("low rain", False), ("ein low", True), ("a low caf\u00e9\u2019s", False), ("\u96e8", True)],
)
def test_a_query_that_is_hardly_english_is_answered_with_a_word(indexed, capsys, query, doubted):
    assert triptych("search", query, "--index", indexed) == 0
    assert ("English" in capsys.readouterr().err) == doubted


def test_words_that_the_tokenizer_takes_apart_are_rare_in_english(tmp_path):
    write_words("abc", tmp_path / "side")
    pieces = {name: number for number, name in enumerate(["rain", "a", "ge", "##witter", "?"])}
    tokenizer = Tokenizer(models.WordPiece(vocab=pieces, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "side" / "tokenizer.json"))
    side = TextSide(tmp_path / "side")
    told = {text: side.may_be_foreign(text) for text in ("rain", "gewitter", "a gewitter")}
    assert told == {"rain": False, "gewitter": True, "a gewitter": False}


CALL = """
import os, sys, time, types
from small_sounds import PitchModel
class Model(PitchModel):
    batch_seconds = 0.0
    def sounds(self, waveforms):
        open("heard", "a").write(f"{sys.argv[1]}\\n")
        time.sleep(0.2)
        return super().sounds(waveforms)
module = types.ModuleType("triptych.apps.sounds.search.embedder")
module.load_embedder = Model
sys.modules[module.__name__] = module
from triptych.apps.sounds.search import indexing
indexing.SAVE_SECONDS = float(sys.argv[2])
from triptych.cli import main
sys.exit(main(["index", "sounds", "--model", "model"]))
"""


def call(folder: Path, name: str, save_seconds: float = 0) -> subprocess.Popen:
    """A call of triptych index in a process of its own, whose model takes its time."""
    here = Path(__file__).parents[3]
    places = os.pathsep.join([str(here / "workflow_scripts"), str(here / "tests" / "audio")])
    return subprocess.Popen(
        [sys.executable, "-c", CALL, name, str(save_seconds)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": places},
    )


def heard(folder: Path) -> list[str]:
    return (folder / "heard").read_text().split() if (folder / "heard").exists() else []


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_of_two_calls_at_once_the_second_goes_on_from_the_first(sounds, weights, tmp_path):
    calls = [call(tmp_path, "one"), call(tmp_path, "other")]
    assert [one.wait(60) for one in calls] == [0, 0]
    assert len(heard(tmp_path)) == 3  # each file once
    assert len(read_index(sounds / NAME).entries) == 3


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_a_killed_call_forgets_nothing_that_was_moved_or_touched(
    sounds, weights, tmp_path, model, number, code
):
    for place in range(4):
        write_sound(sounds / f"{place}.wav", "low", 1 + 0.1 * place)
    assert triptych("index", sounds, "--model", weights) == 0
    for path in [*sounds.glob("?.wav")]:
        path.rename(path.with_name(f"moved {path.name}"))
    for path in sounds.glob("*.wav"):
        os.utime(path, (1, 1))
    write_sound(sounds / "a new one.wav", "high", 3.0)
    write_sound(sounds / "b new one.wav", "high", 2.0)
    stopped = call(tmp_path, "stopped")
    wait_for(lambda: len(heard(tmp_path)) > 0)  # before any of the touched ones was looked at
    stopped.send_signal(number)
    assert stopped.wait(60) == code
    assert triptych("index", sounds) == 0
    assert len(model[-1].heard) == 2  # the new ones
    indexed = {entry.path for entry in read_index(sounds / NAME).entries}
    assert indexed == {path.name for path in sounds.glob("*.wav")}


def test_an_unreadable_folder_keeps_its_embeddings_and_is_told(
    sounds, weights, model, monkeypatch, capsys
):
    """Root may read everything, so the system is made to refuse."""
    for place in ("locked", "locked/deeper"):
        write_sound(sounds / place / "x.wav", "low", 1.2)
    assert triptych("index", sounds, "--model", weights) == 0
    before = read_index(sounds / NAME)

    def refusing(real: Callable) -> Callable:
        def listed(place: str = ".") -> object:
            if os.fspath(place) == os.fspath(sounds / "locked"):
                raise PermissionError(errno.EACCES, "Permission denied", os.fspath(place))
            return real(place)

        return listed

    with monkeypatch.context() as patched:
        for name in ("scandir", "listdir"):
            patched.setattr(os, name, refusing(getattr(os, name)))
        assert triptych("index", sounds) == 2
    after = read_index(sounds / NAME)
    assert np.array_equal(after.embeddings, before.embeddings)
    problems = {entry.path for entry in after.problems}
    assert problems == {"locked/x.wav", "locked/deeper/x.wav"}
    said = capsys.readouterr().err
    assert all(f"kept as it was indexed {path}: locked: Permission" in said for path in problems)
    assert triptych("index", sounds) == 0
    assert len(model) == 1  # nothing was heard again


def test_a_model_of_computed_sounds_alone_is_told_where_one_searches(sounds, tmp_path, capsys):
    weak = write_weights(tmp_path / "weak", b"weak", "synthesised")
    for command in (["index", sounds, "--model", weak], ["search", "low", "--index", sounds]):
        assert triptych(*command) == 0
        assert CAUTION in capsys.readouterr().err.splitlines()
    assert triptych("index", sounds, "--rebuild", "--quiet") == 0
    assert not capsys.readouterr().err


def test_another_model_is_refused_until_the_index_is_rebuilt(sounds, weights, tmp_path, model):
    other = write_weights(tmp_path / "other", b"two")
    triptych("index", sounds, "--model", weights)
    with pytest.raises(InputError, match=r"another model.*--rebuild"):
        triptych("index", sounds, "--model", other)
    assert triptych("index", sounds, "--model", other, "--rebuild") == 0
    assert len(model[-1].heard) == 3
    assert triptych("search", "low", "--index", sounds) == 0


def test_a_model_that_moved_may_be_given(sounds, weights, tmp_path):
    triptych("index", sounds, "--model", weights)
    weights.rename(tmp_path / "moved")
    other = write_sound(tmp_path / "clip.wav", "low", 1.5)
    with pytest.raises(InputError, match="which is gone"):
        triptych("search", "--like", other, "--index", sounds)
    assert triptych("index", sounds, "--model", tmp_path / "moved") == 0
    assert triptych("search", "--like", other, "--index", sounds) == 0


def test_a_sound_finds_what_resembles_it(sounds, weights, tmp_path, model, capsys):
    triptych("index", sounds, "--model", weights)
    capsys.readouterr()
    other = write_sound(tmp_path / "clip.wav", "high", 13.0)
    assert triptych("search", "--like", other, "--index", sounds) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("high.wav")
    loaded = len(model)
    own = ("search", "--like", sounds / "middle.wav", "--index", sounds, "--json")
    assert triptych(*own) == 0
    assert json.loads(capsys.readouterr().out)[0]["file"].endswith("middle.wav")
    assert len(model) == loaded  # what is in the index has been heard already


def test_a_text_side_that_cannot_be_used_is_told_with_what_to_do(sounds, weights):
    triptych("index", sounds, "--model", weights)
    (sounds / "triptych-index.text" / "text.json").write_text('{"model_sha256": "0"}')
    with pytest.raises(InputError, match=r"text side.* run triptych\s+index"):
        triptych("search", "low", "--index", sounds)
    triptych("index", sounds)
    assert triptych("search", "low", "--index", sounds) == 0


def test_the_text_side_is_announced_before_the_summary_and_ctrl_c_ends_it(
    sounds, weights, monkeypatch, capsys
):
    def interrupted(*_: object) -> None:
        said = capsys.readouterr()
        assert "text side" in said.err and not said.out
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(PitchModel, "write_text", interrupted)
        assert main(["index", str(sounds), "--model", str(weights)]) == 130
    assert triptych("index", sounds) == 0
    assert "(0 new, 0 moved or copied, 3 as before" in capsys.readouterr().out
    assert triptych("search", "low", "--index", sounds) == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["index", "absent"], "not a folder"),
        (["index", "empty"], "no sound files"),
        (["index", "sounds", "--model", "clapp"], "clapp is no trained model.*--model small"),
        (["index", "sounds", "--model", "clapp", "--rebuild"], "clapp is no trained model"),
        (["index", "sounds", "--rebuild", "--device", "cuda"], "finds no GPU"),
        (["search", "rain", "--index", "empty"], "index.npz: make one with triptych index"),
        (["search", "rain", "--index", "other"], "give --index other/mine.npz, or make one"),
        (["search", "rain", "--index", "other/notes.txt"], "notes.txt is not .*or is damaged: run"),
        (["search", "--queries", "absent.txt", "--index", "sounds"], "absent.txt: .* no such file"),
        (["search", " ", "--index", "sounds"], "TEXT is empty"),
        (["search", "?!", "--index", "sounds"], "no word"),
        (["search", "--like", "absent.wav", "--index", "sounds"], "no such file"),
        (["search", "--like", "/dev/zero", "--index", "sounds"], "a device"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(sounds, weights, monkeypatch, command, said):
    triptych("index", sounds, "--model", weights)
    monkeypatch.chdir(sounds.parent)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    Path("empty").mkdir()
    Path("other").mkdir()
    Path("other", "mine.npz").touch()
    Path("other", "notes.txt").write_text("rain")
    with pytest.raises(InputError, match=said):
        triptych(*command)


def test_a_search_imports_nothing_that_takes_long(sounds, weights):
    triptych("index", sounds, "--model", weights)
    code = """if True:
        import sys
        from triptych.cli import main
        main(sys.argv[1:])
        assert not {"torch", "transformers", "pandas", "scipy", "sklearn"} & {*sys.modules}
    """
    command = [sys.executable, "-c", code, "search", "low", "--index", str(sounds)]
    subprocess.run(command, check=True, env={"PYTHONPATH": "workflow_scripts"})
