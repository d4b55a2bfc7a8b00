"""`triptych adapt`: what learns, what stays, and what is told of it."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
import torch
from audio_small_models import SMALL, write_clap, write_text
from published_checkpoints import SETTINGS as SETTINGS_OF_PUBLISHED
from published_checkpoints import checkpoint, theirs
from scipy.optimize import minimize
from small_sounds import write_sound
from stops import Never, StopAfter

from triptych.apps.sounds.adapting.adapting import SETTINGS, adapt, learnt
from triptych.apps.sounds.adapting.recordings import (
    HeldOut,
    Recording,
    read_pairs,
    recordings_of,
    split,
    verdict,
)
from triptych.apps.sounds.commands import ADAPTED
from triptych.apps.sounds.search.index import Entry, Index
from triptych.apps.sounds.search.query import Searcher, best_hits
from triptych.audio.models.published import convert_checkpoint
from triptych.audio.models.retrieval import build_model, save_model
from triptych.cli import main
from triptych.core.errors import InputError
from triptych.core.files import sha256_of
from triptych.core.stopping import Stopped

KINDS = {
    "a deep hum": 150.0,
    "a low drone": 400.0,
    "a clear note": 1000.0,
    "a shrill whistle": 2500.0,
    "a piercing hiss": 6000.0,
}
"""Captions, and what is to be heard, in Hz."""
WORDS = ("{}", "{} is heard", "somebody listens to {}", "{} in a quiet room")
EACH = 14
"""Recordings of a kind, in tests that don't ask how well it learns."""


def sound(hertz: float, seed: int, seconds: float) -> np.ndarray:
    """A tone of a chance pitch nearby, level and phase, in noise: float64 at 32 kHz."""
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * 32000)) / 32000
    tone = np.sin(2 * np.pi * (hertz * random.uniform(0.95, 1.05) * time + random.random()))
    noise = 0.02 * random.standard_normal(len(time))
    return np.asarray(random.uniform(0.1, 0.4) * tone + noise)


def write_recordings(folder: Path, each: int, seconds: float = 0.4) -> Path:
    """`each` recordings of each kind in `folder`/sounds, and the table of their captions."""
    (folder / "sounds").mkdir(parents=True)
    rows = []
    for kind, (caption, hertz) in enumerate(KINDS.items()):
        for number in range(each):
            file = f"{kind}-{number}.wav"
            samples = sound(hertz, 1000 * kind + number, seconds)
            soundfile.write(folder / "sounds" / file, samples, 32000)
            rows.append((file, WORDS[number % len(WORDS)].format(caption)))
    pd.DataFrame(rows, columns=["file", "caption"]).to_csv(folder / "pairs.csv", index=False)
    return folder


def write_model(folder: Path, **about: object) -> Path:
    """A model of this study with random weights, of three blocks and three layers."""
    text = write_text(folder.with_name("text"), list(KINDS), "bert", 32, 80, layers=3, heads=2)
    audio = replace(SMALL.audio, dim=64, depth=3, heads=2, patchout=(1, 1))
    settings = replace(SMALL, audio=audio, temperature=0.1, text_dropout=0.0)
    model = build_model(settings, text, None, 0)
    generator = torch.manual_seed(1)
    with torch.no_grad():  # or captions would be all but the same to it
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_((0.3 if name.startswith("text") else 0.05) * noise)
    save_model(model, folder, dict(about))
    return folder


def write_own_clap(folder: Path) -> Path:
    """A CLAP with random weights, as it lies in the cache."""
    folder.mkdir()
    table = {"about": {"sources": {"laion": "download"}}, "settings": {"segment_seconds": 10}}
    (folder / "model.json").write_text(json.dumps(table))
    return write_clap(folder, list(KINDS))


def write_published(folder: Path) -> Path:
    """A checkpoint by the names of its authors, converted."""
    text = write_text(folder.with_name("text"), list(KINDS), "roberta")
    state = theirs(build_model(SETTINGS_OF_PUBLISHED, text, None, seed=3).state_dict(), "salsa")
    file = checkpoint(folder.with_name("published.ckpt"), state)
    convert_checkpoint(file, folder, SETTINGS_OF_PUBLISHED, text)
    return folder


def run(folder: Path, to: str = "adapted", stop=None):
    """Adapt `folder`/model with `folder`'s recordings."""
    places = [folder / name for name in ("model", "pairs.csv", "sounds", to)]
    return adapt(*places, torch.device("cpu"), stop or Never())


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A model, recordings, and what adapting it to them made without a break."""
    folder = write_recordings(tmp_path_factory.mktemp("adapt"), EACH)
    write_model(folder / "model", sources={"clotho": "synthesised"}, label="small")
    run(folder, "unbroken")
    return folder


def table(folder: Path, rows: list[tuple[str, str]]) -> Path:
    pd.DataFrame(rows, columns=["file", "caption"]).to_csv(folder / "pairs.csv", index=False)
    return folder / "pairs.csv"


def test_everything_that_is_wrong_is_named_at_once_and_nothing_learnt(tmp_path, capsys):
    sounds = tmp_path / "sounds"
    write_sound(sounds / "good.wav", "low")
    write_sound(tmp_path / "elsewhere.wav", "low")
    (sounds / "broken.flac").write_bytes(b"fLaC and no more")
    (sounds / "empty.wav").write_bytes(b"")
    write_model(tmp_path / "model")
    pairs = table(
        tmp_path,
        [
            ("good.wav", "a tone"),
            ("missing.wav", "a tone"),
            ("good.wav", " ?!"),
            ("broken.flac", "a tone"),
            ("../elsewhere.wav", "a tone"),
            ("notes.txt", "a tone"),
            ("", "a tone"),
            ("empty.wav", "a tone"),
        ],
    )
    command = ["adapt", str(pairs), str(sounds), "--model", str(tmp_path / "model")]
    assert main(command) == 2
    told = capsys.readouterr().err
    for said in ("5 problems", "'missing.wav'", "line 4: 'good.wav' has an empty", "'notes.txt'"):
        assert said in told
    assert "line 6: '../elsewhere.wav' lies outside" in told and "line 8: there is no" in told
    table(tmp_path, [("good.wav", "a tone"), ("broken.flac", "a tone"), ("empty.wav", "a tone")])
    assert main(command) == 2
    told = capsys.readouterr().err
    for said in ("2 problems", "broken.flac: not sound", "empty.wav: an empty file"):
        assert said in told
    assert not (sounds / ADAPTED).exists()


def test_files_are_named_below_the_folder_or_absolutely_and_copies_are_one(tmp_path):
    composed, decomposed = "caf\u00e9.flac", "cafe\u0301.flac"  # as Linux and macOS write it
    for name in ("in/b.wav", decomposed, "a copy.wav"):
        write_sound(tmp_path / "sounds" / name, "low")
    pairs = table(
        tmp_path,
        [
            ("in/b.wav", "A low tone."),
            (str(tmp_path / "sounds" / composed), "high"),
            ("./in//b.wav", "it hums"),
            ("a copy.wav", "A low tone."),
            ("a copy.wav", " drone "),
        ],
    )
    captions = read_pairs(pairs, tmp_path / "sounds")
    named = {"a copy.wav": ["A low tone.", "drone"], "in/b.wav": ["A low tone.", "it hums"]}
    assert captions == {**named, decomposed: ["high"]}
    ones = np.ones((1, 2), np.float16)
    entries = [Entry(path, 1, 1, path[-3:], embeddings=ones) for path in captions]
    copy, high = recordings_of(Index(tmp_path, "", "", 1.0, entries), captions)
    assert (copy.path, copy.captions) == ("a copy.wav", ("A low tone.", "drone", "it hums"))
    assert (high.path, high.captions) == (decomposed, ("high",))


def test_captions_that_the_model_reads_alike_are_one_query_with_all_its_recordings():
    spellings = ["A dog barks", "a dog barks.", "A dog, barks!", "a  dog barks", "Rain falls."]
    vectors = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]], np.float16)
    entries = [
        Entry(f"{n}.wav", 1, 1, str(n), embeddings=vector[None]) for n, vector in enumerate(vectors)
    ]
    captions = {f"{n}.wav": [text] for n, text in enumerate(spellings)}
    held_out = HeldOut(recordings_of(Index(Path(), "", "", 1.0, entries), captions))
    texts = {"A dog barks": torch.tensor([1.0, 0, 0]), "Rain falls.": torch.tensor([0, 1.0, 0])}
    assert held_out.captions == list(texts)
    scores = held_out.scores(texts, (torch.eye(3), torch.eye(3)))
    table = held_out.compare(scores, scores).set_index("metric")
    assert table.loc["map_at_10", "before"] == 1.0  # of a perfect model


NONE = torch.zeros(1, 1)


def recordings(count: int, seed: int = 0) -> list[Recording]:
    random = np.random.default_rng(seed)
    hashes = [random.bytes(32).hex() for _ in range(count)]
    return [Recording(f"{n}.wav", sha256, (f"{n}",), NONE) for n, sha256 in enumerate(hashes)]


def test_a_recording_is_on_the_same_side_whatever_others_there_are():
    many = recordings(4000)
    parts = split(many)
    sides = {each.path: part for part, some in parts.items() for each in some}
    assert len(sides) == 4000 == sum(map(len, parts.values()))
    for part, some in split(many[1000:1200]).items():
        assert {sides[each.path] for each in some} == {part}
    shares = [len(some) / 4000 for some in parts.values()]
    assert shares == pytest.approx([0.8, 0.2], abs=0.02)  # three standard errors


def test_too_few_recordings_are_refused():
    with pytest.raises(InputError, match=r"3 recordings are too few.* needs 2"):
        split(recordings(3))


ROUNDING = 1e-3
"""Of a cosine of embeddings kept in float16, whose parts err by up to one in 2,048."""


def measures(scores: list[dict[str, float]], right: list[set[str]], favour: float) -> list[float]:
    """mAP@10, mAP@16, R@1, R@5 and R@10 of queries, the right ones' scores raised by `favour`."""
    precisions, firsts = [], []
    for score, files in zip(scores, right, strict=True):
        raised = {file: value + favour * (file in files) for file, value in score.items()}
        order = sorted(raised, key=raised.__getitem__, reverse=True)
        places = [rank for rank, file in enumerate(order, 1) if file in files]
        firsts.append(places[0])
        hits = [(n / rank, rank) for n, rank in enumerate(places, 1)]
        precisions.append([sum(p for p, r in hits if r <= k) / len(files) for k in (10, 16)])
    return [*np.mean(precisions, axis=0), *(np.mean(np.array(firsts) <= k) for k in (1, 5, 10))]


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_model, write_own_clap, write_published])
def test_the_scores_are_those_of_an_index(tmp_path, write):
    """Of the recordings held out alone, of several segments, searched by each caption; but for
    recordings as near to a caption as one another, which rounding puts in another order."""
    write_recordings(tmp_path, EACH, seconds=1.3)
    write(tmp_path / "model")
    done = run(tmp_path)
    captions = read_pairs(tmp_path / "pairs.csv", tmp_path / "sounds")
    held_out = []
    (tmp_path / "apart").mkdir()
    for path, texts in captions.items():
        recording = Recording(path, sha256_of(tmp_path / "sounds" / path), tuple(texts), NONE)
        if recording.part == "held out":
            held_out.append(recording)
            shutil.copy(tmp_path / "sounds" / path, tmp_path / "apart")
    options = ["--model", str(tmp_path / "adapted"), "--device", "cpu"]
    assert main(["index", str(tmp_path / "apart"), *options]) == 0
    searcher = Searcher(tmp_path / "apart")
    scores, right = [], []
    for caption in {caption for each in held_out for caption in each.captions}:
        hits = best_hits(searcher.index, searcher.text(caption), len(held_out), each=1)
        assert len(hits) == len(held_out)
        scores.append({Path(hit.file).name: hit.score for hit in hits})
        right.append({each.path for each in held_out if caption in each.captions})
    low, high = (np.array(measures(scores, right, favour)) for favour in (-ROUNDING, ROUNDING))
    after = done["after"].to_numpy()
    assert (low - 1e-9 <= after).all() and (after <= high + 1e-9).all(), (low, after, high)
    assert (high - low).max() < done["gain"].abs().max()
    assert done["metric"].tolist() == [*("map_at_10", "map_at_16", "r_at_1", "r_at_5", "r_at_10")]


@pytest.mark.slow
def test_on_recordings_that_are_easily_learnt_held_out_ones_are_found_better(tmp_path):
    write_recordings(tmp_path, 40)
    write_model(tmp_path / "model")
    done = run(tmp_path)
    row = done.set_index("metric").loc["map_at_10"]
    assert row["gain_low"] > 0 and row["after"] > 2 * row["chance"]
    assert "is better on recordings that it has not heard" in verdict(done)


def test_the_maps_lower_the_studys_loss_as_far_as_another_optimiser(tmp_path):
    """On embeddings near their captions': within a hundredth of what SciPy's L-BFGS reaches."""
    generator = torch.Generator().manual_seed(3)
    width = 16
    noise = torch.randn(5 + 2 * 40, width, generator=generator)
    texts = {f"caption {n}": unit(noise[n]) for n in range(5)}
    recordings = [
        Recording(
            f"{n}",
            "",
            (f"caption {n % 5}",),
            unit(texts[f"caption {n % 5}"] + 0.3 * noise[5 + 2 * n : 7 + 2 * n]),
        )
        for n in range(40)
    ]
    audio = torch.stack([unit(each.segments.mean(0)) for each in recordings]).double()
    text = torch.stack([texts[each.captions[0]] for each in recordings]).double()
    same = torch.tensor([[n % 5 == m % 5 for m in range(40)] for n in range(40)])

    def loss(flat):
        maps = torch.tensor(flat, dtype=torch.float64).view(2, width, width).requires_grad_()
        mapped = [unit(x + x @ each) for x, each in zip((audio, text), maps, strict=True)]
        logits = mapped[0] @ mapped[1].T / SETTINGS["temperature"]
        right = -(logits.log_softmax(0) + logits.log_softmax(1))[same].mean() / 2
        value = right + SETTINGS["decay"] * maps.square().sum()
        return value.item(), torch.autograd.grad(value, maps)[0].flatten().numpy()

    found = torch.stack(learnt(recordings, texts)) - torch.eye(width)
    best = minimize(loss, np.zeros(2 * width**2), jac=True, method="L-BFGS-B")
    assert loss(np.zeros(2 * width**2))[0] > best.fun + 0.1
    assert loss(found.flatten().numpy())[0] == pytest.approx(best.fun, rel=1e-2)


def unit(vectors: torch.Tensor) -> torch.Tensor:
    return vectors / vectors.norm(dim=-1, keepdim=True)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("looks", [0, 20])
def test_a_run_that_was_stopped_ends_with_an_unbroken_runs_bytes(place, looks):
    """Before it hears anything, and midway."""
    to = f"stopped {looks}"
    with pytest.raises(Stopped):
        run(place, to, StopAfter(looks))
    assert not (place / to).exists()
    run(place, to)
    assert files(place / to) == files(place / "unbroken")
    assert not list(place.glob(".adapting*"))


def test_a_result_that_is_there_is_not_overwritten(place, capsys):
    arguments = [str(place / "pairs.csv"), str(place / "sounds"), "--model", str(place / "model")]
    before = files(place / "unbroken")
    assert main(["adapt", *arguments, "-o", str(place / "unbroken")]) == 2
    assert "unbroken exists" in capsys.readouterr().err
    assert files(place / "unbroken") == before


def test_the_command_that_follows_may_be_pasted(place, monkeypatch, capsys):
    scores = pd.read_csv(place / "unbroken" / "scores.csv")
    monkeypatch.setattr("triptych.apps.sounds.adapting.adapting.adapt", lambda *_, **__: scores)
    folder, to = str(place / "sounds"), str(place / "my model")
    assert main(["adapt", str(place / "pairs.csv"), folder, "-o", to]) == 0
    *_, line = capsys.readouterr().out.splitlines()
    printed = shlex.split(line.removeprefix(f"{to}: "))
    assert printed == ["triptych", "index", folder, "--model", to, "--rebuild"]
