"""`triptych adapt`: what learns, what stays, and what is told of it."""

import shutil
import signal
import time
from pathlib import Path

import captioned_sounds as made
import numpy as np
import pandas as pd
import pytest
import torch
from broken_runs import start
from safetensors.torch import load_file
from small_sounds import write_sound
from stops import StopAfter
from triptych.apps.sounds.adapting.last_blocks import Kept, KeptSounds, LastBlocks
from triptych.apps.sounds.adapting.settings import Wish, training_settings

from triptych.apps.sounds.adapting.held_out import HeldOut, as_text, verdict
from triptych.apps.sounds.adapting.recordings import Recording, read_recordings, split
from triptych.apps.sounds.search.query import Searcher
from triptych.audio.models.model_files import load_model
from triptych.audio.training.losses import nt_xent
from triptych.cli import main
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped

EACH = 14
"""Recordings of a kind, in tests that don't ask how well it learns."""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A model, recordings, and what adapting it to them made without a break."""
    folder = made.write_recordings(tmp_path_factory.mktemp("adapt"), EACH)
    made.write_model(folder / "model", sources={"clotho": "synthesised"}, label="small")
    made.run(folder, "unbroken")
    return folder


def table(folder: Path, rows: list[tuple[str, str]]) -> Path:
    pd.DataFrame(rows, columns=["file", "caption"]).to_csv(folder / "pairs.csv", index=False)
    return folder / "pairs.csv"


def test_everything_that_is_wrong_is_named_at_once_and_nothing_computed(tmp_path, capsys):
    sounds = tmp_path / "sounds"
    write_sound(sounds / "good.wav", "low")
    write_sound(tmp_path / "elsewhere.wav", "low")
    (sounds / "broken.flac").write_bytes(b"fLaC and no more")
    (sounds / "empty.wav").write_bytes(b"")
    made.write_model(tmp_path / "model")
    pairs = table(
        tmp_path,
        [
            ("good.wav", "a tone"),
            ("missing.wav", "a tone"),
            ("good.wav", " ?!"),
            ("broken.flac", "a tone"),
            ("../elsewhere.wav", "a tone"),
            (str(tmp_path / "elsewhere.wav"), "a tone"),
            ("notes.txt", "a tone"),
            ("", "a tone"),
            ("empty.wav", ""),
        ],
    )
    code = main(["adapt", str(pairs), str(sounds), "--model", str(tmp_path / "model")])
    told = capsys.readouterr().err
    assert code == 2 and "9 problems; nothing was computed" in told
    for said in (
        "missing.wav: there is no such file",
        "row 4: 'good.wav' has an empty caption",
        "broken.flac: not sound that can be read",
        "row 6: '../elsewhere.wav' lies outside",
        f"row 7: '{tmp_path}/elsewhere.wav' lies outside",
        "row 8: 'notes.txt' is no sound file",
        "row 9: '' names no file",
        "row 10: 'empty.wav' has an empty caption",
        "empty.wav: an empty file",
    ):
        assert said in told
    assert [path.name for path in sounds.iterdir() if "triptych" in path.name] == []


def test_files_are_named_below_the_folder_or_absolutely_and_copies_are_one(tmp_path):
    write_sound(tmp_path / "sounds" / "in" / "b.wav", "low", 1.5, 44100)
    write_sound(tmp_path / "sounds" / "c.flac", "high", 1.0, 32000)
    shutil.copy(tmp_path / "sounds/in/b.wav", tmp_path / "sounds/a copy.wav")
    pairs = table(
        tmp_path,
        [
            ("in/b.wav", "A low tone."),
            (str(tmp_path / "sounds/c.flac"), "high"),
            ("./in//b.wav", "it hums"),
            ("a copy.wav", "A low tone."),
            ("a copy.wav", " drone "),
        ],
    )
    copy, high = read_recordings(pairs, tmp_path / "sounds")
    assert (copy.path, copy.captions) == ("a copy.wav", ("A low tone.", "drone", "it hums"))
    assert (high.path, high.captions, high.frames) == ("c.flac", ("high",), 32000)
    assert copy.frames == 48000


def recordings(count: int, seed: int = 0) -> list[Recording]:
    random = np.random.default_rng(seed)
    return [Recording(f"{n}.wav", random.bytes(32).hex(), 9, (f"{n}",)) for n in range(count)]


def test_a_recording_is_on_the_same_side_whatever_others_there_are():
    many = recordings(4000)
    parts = split(many)
    sides = {each.path: part for part, some in parts.items() for each in some}
    assert len(sides) == 4000 == sum(map(len, parts.values()))
    for part, some in split(many[1000:1200]).items():
        assert {sides[each.path] for each in some} == {part}
    shares = [len(some) / 4000 for some in parts.values()]
    assert shares == pytest.approx([0.65, 0.15, 0.2], abs=0.025)  # three standard errors


def test_too_few_recordings_are_refused(place, tmp_path):
    with pytest.raises(InputError, match=r"3 recordings are too few.*2 of each are the least"):
        split(recordings(3))


def learner_of(place, blocks: int, folder: Path):
    model = load_model(place / "model")
    return model, LastBlocks(model, blocks), Kept(folder, {"blocks": blocks})


@pytest.mark.parametrize("blocks", [1, 2, 99])
def test_behind_the_frozen_part_it_says_what_the_whole_model_says(place, tmp_path, blocks):
    """With the same gradients; and its own tensors are those behind the frozen part."""
    model, learner, kept = learner_of(place, blocks, tmp_path)
    waveforms = [torch.randn(n) / 10 for n in (9_000, 16_000, 39_000)]
    captions = ["a deep hum", "a shrill whistle in a quiet room", "hiss"]
    with torch.inference_mode():
        files = {
            str(n): kept.file(n, lambda row=row: learner.hear(row))
            for n, row in enumerate(waveforms)
        }
        for each in captions:
            learner.text.files[each] = kept.file(each, lambda each=each: learner.read(each))
    store = KeptSounds(files)
    rows = [torch.from_numpy(store.read(str(n))) for n in range(3)]
    lengths = torch.tensor([store.frames(str(n)) for n in range(3)])
    assert lengths.tolist() == [len(row) for row in rows]

    heard = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    audio = learner.embed_audio(heard, lengths)
    text = learner.embed_text(learner.text.tokenize(captions))
    nt_xent(audio, text, learner.temperature).backward()
    found = {name: value.grad for name, value in model.named_parameters()}
    assert {name for name, value in found.items() if value is not None} == learning(model, blocks)

    whole = load_model(place / "model")
    padded = torch.nn.utils.rnn.pad_sequence(waveforms, batch_first=True)
    expected = whole.embed_audio(padded, [len(row) for row in waveforms])
    torch.testing.assert_close(audio, expected, rtol=1e-4, atol=1e-5)
    expected_text = whole.embed_text(whole.text.tokenize(captions))
    torch.testing.assert_close(text, expected_text, rtol=1e-4, atol=1e-5)
    nt_xent(expected, expected_text, whole.temperature).backward()
    for name, value in whole.named_parameters():
        if found[name] is not None:
            torch.testing.assert_close(found[name], value.grad, rtol=1e-3, atol=1e-5)


def learning(model, blocks: int) -> set[str]:
    """Names, by hand."""
    last = [str(n) for n in range(3)][-blocks:]
    begins = ["project_", "temperature", "audio.norm."]
    begins += [f"audio.blocks.{n}." for n in last]
    begins += [f"text.model.encoder.layer.{n}." for n in last]
    return {name for name, _ in model.named_parameters() if name.startswith(tuple(begins))}


def test_nothing_but_the_last_blocks_and_projections_changes(place):
    before, after = (load_file(place / n / "model.safetensors") for n in ("model", "unbroken"))
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert set(before) == set(after)
    assert changed == learning(load_model(place / "model"), 2)


@pytest.mark.slow
def test_the_scores_before_are_those_of_an_index(tmp_path):
    """Of the recordings held out alone, some of several segments, searched by each caption."""
    made.write_recordings(tmp_path, EACH, seconds=1.3)
    made.write_model(tmp_path / "model")
    done = made.run(tmp_path, epochs=1)
    found = read_recordings(tmp_path / "pairs.csv", tmp_path / "sounds")
    held_out = split(found)["held out"]
    for each in held_out:
        (tmp_path / "apart").mkdir(exist_ok=True)
        shutil.copy(tmp_path / "sounds" / each.path, tmp_path / "apart")
    options = ["--model", str(tmp_path / "model"), "--device", "cpu"]
    assert main(["index", str(tmp_path / "apart"), *options]) == 0
    searcher = Searcher(tmp_path / "apart")
    precisions, firsts = [], []
    for caption in {caption for each in held_out for caption in each.captions}:
        hits = searcher.best(searcher.texts(caption), len(held_out), each=1)
        right = {each.path for each in held_out if caption in each.captions}
        places = [hit.rank for hit in hits if Path(hit.file).name in right]
        assert len(hits) == len(held_out) and len(places) == len(right)
        firsts.append(places[0])
        precisions.append(
            [
                sum(n / rank for n, rank in enumerate(places, 1) if rank <= cutoff) / len(right)
                for cutoff in (10, 16)
            ]
        )
    expected = [*np.mean(precisions, axis=0), *(np.mean(np.array(firsts) <= k) for k in (1, 5, 10))]
    assert done.scores["before"].tolist() == pytest.approx(expected, abs=1e-9)
    assert done.scores["metric"].tolist() == [
        *("map_at_10", "map_at_16", "r_at_1", "r_at_5", "r_at_10")
    ]


@pytest.mark.slow
def test_on_recordings_that_are_easily_learnt_held_out_ones_are_found_better(tmp_path):
    made.write_recordings(tmp_path, 40)
    made.write_model(tmp_path / "model")
    done = made.run(tmp_path, epochs=20)
    row = done.scores.set_index("metric").loc["map_at_10"]
    assert row["gain_low"] > 0.05 and row["after"] > 2 * row["chance"]
    assert "is better on recordings that it has not heard" in verdict(done.scores)
    assert done.validation[1] > done.validation[0]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("looks", [0, 40, 95, 118])
def test_a_run_that_was_stopped_ends_with_an_unbroken_runs_bytes(place, looks):
    """While it scores, hears what is frozen, validates, trains."""
    to = f"stopped {looks}"
    with pytest.raises(Stopped):
        made.run(place, to, StopAfter(looks))
    assert not (place / to).exists()
    made.run(place, to)
    assert files(place / to) == files(place / "unbroken")
    assert not list(place.glob(".adapting*"))


@pytest.mark.slow
@pytest.mark.parametrize("wait", ["frozen/*.npy", "state.pt"])
def test_a_run_that_was_killed_ends_with_an_unbroken_runs_bytes(place, tmp_path, wait):
    folder = tmp_path / "place"
    shutil.copytree(place, folder)
    for to in ("killed", "spared"):
        process = start(Path(made.__file__), folder, to)
        if to == "killed":
            work = folder / ".adapting-killed"
            while process.poll() is None and len(list(work.glob(wait))) < 1:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL and work.exists()
            process = start(Path(made.__file__), folder, to)
        output = process.communicate()[0]
        assert process.returncode == 0, output
    assert files(folder / "killed") == files(folder / "spared")


def test_a_result_that_is_there_is_not_overwritten(place, capsys):
    arguments = [str(place / "pairs.csv"), str(place / "sounds"), "--model", str(place / "model")]
    before = files(place / "unbroken")
    assert main(["adapt", *arguments, "-o", str(place / "unbroken")]) == 2
    assert "unbroken is there already" in capsys.readouterr().err
    with pytest.raises(InputError, match="is there already"):
        made.run(place, "unbroken")
    assert files(place / "unbroken") == before


def test_an_encoder_without_blocks_is_told_what_to_do(place):
    model = load_model(place / "model")
    model.audio = torch.nn.Linear(3, 3)
    with pytest.raises(InputError, match=r"Linear has no blocks.*--blocks all"):
        LastBlocks(model, 2)


def test_by_itself_a_processor_trains_the_last_blocks_or_where_there_are_none_the_whole(place):
    made.run(place, "by_itself", blocks="auto")
    weights = [load_file(place / name / "model.safetensors") for name in ("by_itself", "unbroken")]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())
    small = place / "small"
    shutil.copytree(place / "sounds", small / "sounds")
    shutil.copy(place / "pairs.csv", small)
    shutil.copytree(Path(__file__).parents[3] / "resources/audio/small", small / "model")
    made.run(small, blocks="auto", epochs=1)
    before, after = (load_file(small / name / "model.safetensors") for name in ("model", "adapted"))
    learnt = {name for name in before if not torch.equal(before[name], after[name])}
    parts = {name.split(".")[0] for name in before} - {"temperature"}  # which the model has fixed
    assert {name.split(".")[0] for name in learnt} == parts


def test_a_model_of_ones_own_learns_at_its_own_rate_and_as_it_was_regularised():
    about = {"training": {"schedule": {"learning_rate": 0.001}, "time_mask": 7, "patchout": False}}
    whole = training_settings(Wish(None), about, 100, "float32", 0)
    assert whole.schedule.learning_rate == 0.001
    assert (whole.time_mask, whole.frequency_mask, whole.patchout) == (7, 48, False)
    part = training_settings(Wish(2), about, 9, "float32", 0)
    assert (part.time_mask, part.frequency_mask, part.band_jitter, part.batch) == (0, 0, False, 9)
    assert training_settings(Wish(2), {}, 9, "float32", 0).schedule.learning_rate == 2e-5
    assert training_settings(Wish(2, 5, 0.1), about, 9, "f", 0).schedule.learning_rate == 0.1


def held_out(captions: list[tuple[str, ...]]) -> HeldOut:
    return HeldOut(
        Path("."), [Recording(f"{n:03}", "", 1, each) for n, each in enumerate(captions)]
    )


def test_a_caption_of_several_recordings_is_one_query_with_several_right_answers():
    asked = held_out([("rain",), ("dog",), ("rain", "roof")])
    assert asked.captions == ["rain", "dog", "roof"]
    assert asked.relevant.tolist() == [
        [True, False, True],
        [False, True, False],
        [False, False, True],
    ]
    scores = np.array([[0.1, 0.9, 0.5], [0.9, 0.8, 0.1], [0.1, 0.2, 0.3]])
    # rain: its recordings stand second and third; dog: second; roof: first
    table = asked.compare(scores, np.where(asked.relevant, 1.0, 0.0)).set_index("metric")
    assert table["before"].tolist() == pytest.approx(
        [np.mean([(1 / 2 + 2 / 3) / 2, 1 / 2, 1]), 1 / 3, 1, 1]
    )
    assert table["after"].tolist() == [1, 1, 1, 1]
    assert table["gain"].tolist() == pytest.approx(table["after"] - table["before"])
    assert table["chance"]["r_at_1"] == pytest.approx((2 / 3 + 1 / 3 + 1 / 3) / 3)
    assert table["queries"]["r_at_1"] == table["recordings"]["r_at_1"] == 3


def noisy(asked: HeldOut, signal: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return signal * asked.relevant + random.standard_normal(asked.relevant.shape)


@pytest.mark.parametrize(
    ("count", "signals", "said"),
    [
        (80, (0, 3), "is better"),
        (80, (3, 0), "is WORSE"),
        (80, (1, 1), "the gain's interval holds 0"),
        (29, (0, 9), "29 recordings held out are too few to tell"),
        (8, (0, 9), "Of 8 recordings the first 10 are all"),
    ],
)
def test_it_is_said_when_too_few_are_held_out_to_tell(count, signals, said):
    asked = held_out([(f"sound {n}",) for n in range(count)])
    table = asked.compare(*(noisy(asked, signal, n) for n, signal in enumerate(signals)))
    assert said in verdict(table)
    assert len(as_text(table).splitlines()) == 5
