"""Published checkpoints: made-up ones of their names and shapes, converted and scored."""

import json
import types
import zipfile

import numpy as np
import pandas as pd
import pytest
import soundfile
import torch
from audio_source_files import captions_of, write_clotho
from download_server import Behaviour, serving

from triptych.audio.data.audio_sources import open_audio
from triptych.audio.data.clotho import read_clotho
from triptych.audio.data.shard_writing import write_shards
from triptych.audio.models.audio_encoders.passt import Settings
from triptych.audio.models.published import convert_checkpoint, download_checkpoint
from triptych.audio.models.retrieval import build_model, load_model
from triptych.audio.models.sentence_encoders.roberta import Settings as RobertaSettings
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.text_making import write_scratch_model
from triptych.audio.report.tables_others import published_long, published_table
from triptych.audio.scoring.published import score_models
from triptych.core.errors import InputError

PASST = Settings(
    stride=(16, 16), frames=1000, dim=24, depth=1, heads=3, patchout=(2, 15), classes=5
)
SETTINGS = ModelSettings(
    audio=PASST,
    segment_seconds=10,
    projection=16,
    temperature=0.05,
    learn_temperature=False,
    text_dropout=0.2,
)


class ReadOnlyDict(dict):
    """An object of a class that nobody allows, as sacred leaves them in a checkpoint."""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    settings = RobertaSettings(hidden=24, vocabulary=300, layers=1, heads=3)
    write_scratch_model(folder, settings.config(), settings.pieces, captions_of("tram.wav"))
    return folder


def theirs(state, kind):
    """A model's tensors by the names that its authors' code gives them.

    dcase2025: AudioRetrievalModel of d25_t6/retrieval_module.py, compiled; salsa: that of
    experiments/ex_dcase24.py, with the parts that it has and a PaSST without sequence doesn't use.
    """
    inner = "_orig_mod." if kind == "dcase2025" else ""
    text = "text_embedding_model" if kind == "dcase2025" else "sentence_embedding_model"
    named = {}
    for name, tensor in state.items():
        first, _, rest = name.partition(".")
        if first == "audio":
            named[f"audio_embedding_model.model.model.{inner}{rest}"] = tensor
        elif first == "text":
            named[f"{text}.{inner}{rest.removeprefix('model.encoder.')}"] = tensor
        elif first == "temperature":
            named["tau"] = tensor
        else:
            of_text = first == "project_sentence"
            projection = f"{'text' if of_text else 'audio'}_projection.{rest.removeprefix('0.')}"
            named[projection if kind == "dcase2025" else name] = tensor
    if kind == "salsa":
        named["timing_tau"] = torch.ones(1)
        named["audio_token"] = torch.randn(1, 1, 768)
        named["posencode.pe"] = torch.randn(1, 192, 768)
        named[f"{text}.embeddings.position_ids"] = torch.arange(514)[None]
    return named


def checkpoint(path, state):
    """A Lightning checkpoint: tensors, counters and the objects of a training."""
    torch.save(
        {
            "epoch": 19,
            "pytorch-lightning_version": "2.5.0",
            "state_dict": state,
            "optimizer_states": [{"state": {0: {"step": torch.ones(())}}}],
            "hyper_parameters": ReadOnlyDict(seed=13, audio_features=ReadOnlyDict(model="passt")),
            "callbacks": {"ModelCheckpoint": {"best_model_score": torch.ones(())}},
            "loops": types.SimpleNamespace(fit=1),
        },
        path,
    )
    return path


@torch.no_grad()
def embeddings(model):
    model.eval()
    sound = 0.1 * torch.randn(2, 330_000, generator=torch.Generator().manual_seed(0))
    audio = model.embed_audio(sound, [330_000, 400])
    return torch.cat([audio, model.embed_text(model.text.tokenize(captions_of("hail.wav")))])


@pytest.mark.parametrize("kind", ["dcase2025", "salsa"])
def test_a_checkpoint_of_their_names_gives_the_model_that_it_was(kind, text, tmp_path):
    model = build_model(SETTINGS, text, None, seed=3)
    path = checkpoint(tmp_path / "a.ckpt", theirs(model.state_dict(), kind))
    convert_checkpoint(path, tmp_path / "model", SETTINGS, text)
    assert torch.equal(embeddings(load_model(tmp_path / "model")), embeddings(model))


def test_another_model_and_another_file_are_refused_by_name(text, tmp_path):
    model = build_model(SETTINGS, text, None, seed=3)
    state = theirs(model.state_dict(), "salsa")
    state["audio_sequence.0.linear1.weight"] = torch.ones(1)
    path = checkpoint(tmp_path / "sequence.ckpt", state)
    with pytest.raises(InputError, match=r"1 unknown \(audio_sequence\.0"):
        convert_checkpoint(path, tmp_path / "model", SETTINGS, text)
    (tmp_path / "page.ckpt").write_bytes(b"<html>expired</html>")
    with pytest.raises(InputError, match="no checkpoint of PyTorch Lightning"):
        convert_checkpoint(tmp_path / "page.ckpt", tmp_path / "model", SETTINGS, text)


def test_a_checkpoint_runs_nothing(text, tmp_path):
    class Attack:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",))

    model = build_model(SETTINGS, text, None, seed=3)
    path = tmp_path / "a.ckpt"
    torch.save({"state_dict": theirs(model.state_dict(), "salsa"), "callbacks": Attack()}, path)
    convert_checkpoint(path, tmp_path / "model", SETTINGS, text)
    assert not (tmp_path / "ran").exists()


@pytest.fixture(scope="module")
def clotho(tmp_path_factory):
    """The evaluation split alone: tables and shards of three clips."""
    folder = tmp_path_factory.mktemp("clotho")
    write_clotho(folder, challenge=False)
    for split in ("development", "validation"):
        (folder / f"clotho_captions_{split}.csv").unlink()
        (folder / f"clotho_metadata_{split}.csv").unlink()
    random = np.random.default_rng(0)
    (folder / "evaluation").mkdir()
    for name, seconds in (("tram.wav", 15), ("lost.wav", 4), ("hail.wav", 11)):
        sound = random.standard_normal(44_100 * seconds) * 0.05
        soundfile.write(folder / "evaluation" / name, sound, 44_100)
    tables = read_clotho(folder, splits=["evaluation"])
    write_shards(
        tables.clips,
        open_audio(folder),
        folder / "shards",
        "flac",
        checkpoint=folder / "checkpoint",
    )
    return folder, tables


def test_what_is_fetched_in_parts_is_scored_beside_what_is_printed(text, clotho, tmp_path):
    folder, tables = clotho
    model = build_model(SETTINGS, text, None, seed=3)
    path = checkpoint(tmp_path / "whole.ckpt", theirs(model.state_dict(), "dcase2025"))
    with zipfile.ZipFile(tmp_path / "share.zip", "w") as archive:  # as a share of a folder is sent
        archive.write(path, "model/whole.ckpt")
    content = (tmp_path / "share.zip").read_bytes()
    parts = [content[:1000], content[1000:]]
    files = {f"/{number}.ckpt": part for number, part in enumerate(parts)}
    with serving(Behaviour(files=files)) as address:
        download_checkpoint(
            [f"{address}/{number}.ckpt" for number in range(2)],
            tmp_path / "published" / "dcase2025",
            SETTINGS,
            text,
            [tmp_path / f"{number}.json" for number in range(2)],
        )
    assert [path.name for path in (tmp_path / "published").iterdir()] == ["dcase2025"]
    assert json.loads((tmp_path / "1.json").read_text())["size"] == len(parts[1])
    metrics = score_models(
        {"dcase2025": tmp_path / "published" / "dcase2025"},
        tables.clips,
        tables.captions,
        folder / "shards",
        30.0,
        "cpu",
    )
    printed = pd.read_csv("resources/published/audio_table2.csv")
    long = published_long(metrics, printed, scale="custom").set_index("metric")
    best = long.loc["map_at_10"]
    assert (best["published"], best["clips"], best["queries"]) == (35.23, 3, 15)
    assert best["difference"] == pytest.approx(best["value"] - 35.23)
    # Against plain code: every caption's rank among three clips.
    with torch.no_grad():
        audio = torch.cat(
            [
                model.eval().embed_audio(torch.from_numpy(sound)[None].float(), [len(sound)])
                for sound in map(_resampled, sorted((folder / "evaluation").glob("*.wav")))
            ]
        )
        names = sorted(path.name for path in (folder / "evaluation").glob("*.wav"))
        ranks = []
        for own, name in enumerate(names):
            query = model.embed_text(model.text.tokenize(captions_of(name)))
            scores = query @ audio.T
            ranks += (1 + (scores > scores[:, own : own + 1]).sum(1)).tolist()
    assert best["value"] == pytest.approx(100 * np.mean([1 / rank for rank in ranks]))
    assert "35.23" in str(published_table(long.reset_index()).rows)


def _resampled(path):
    import soxr

    sound, rate = soundfile.read(path)
    return soxr.resample(sound, rate, 32_000)
