"""Published checkpoints: made-up ones of their names and shapes, converted and scored."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import soundfile
import soxr
import torch
from audio_small_models import write_text
from audio_source_files import CLOTHO, captions_of, write_clotho
from download_server import Behaviour, serving
from published_checkpoints import SETTINGS, checkpoint, theirs

from audio import published
from triptych.audio.data.audio_sources import open_audio
from triptych.audio.data.clotho import read_clotho
from triptych.audio.data.shard_writing import write_shards
from triptych.audio.models.published import convert_checkpoint, download_checkpoint
from triptych.audio.models.retrieval import build_model, load_model
from triptych.audio.scoring.published import score_models
from triptych.core.errors import InputError


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text"), captions_of("tram.wav"), "roberta")


@pytest.fixture
def model(text):
    return build_model(SETTINGS, text, None, seed=3)


@torch.no_grad()
def embeddings(model):
    model.eval()
    sound = 0.1 * torch.randn(2, 330_000, generator=torch.Generator().manual_seed(0))
    audio = model.embed_audio(sound, [330_000, 400])
    return torch.cat([audio, model.embed_text(model.text.tokenize(captions_of("hail.wav")))])


@pytest.mark.parametrize("kind", ["dcase2025", "salsa"])
def test_a_checkpoint_of_their_names_gives_the_model_that_it_was(kind, model, text, tmp_path):
    path = checkpoint(tmp_path / "a.ckpt", theirs(model.state_dict(), kind))
    convert_checkpoint(path, tmp_path / "model", SETTINGS, text)
    assert torch.equal(embeddings(load_model(tmp_path / "model")), embeddings(model))


def test_another_model_and_another_file_are_refused_by_name(model, text, tmp_path):
    state = theirs(model.state_dict(), "salsa")
    state["audio_sequence.0.linear1.weight"] = torch.ones(1)
    path = checkpoint(tmp_path / "sequence.ckpt", state)
    with pytest.raises(InputError, match=r"1 unknown \(audio_sequence\.0"):
        convert_checkpoint(path, tmp_path / "model", SETTINGS, text)
    (tmp_path / "page.ckpt").write_bytes(b"<html>expired</html>")
    with pytest.raises(InputError, match="no checkpoint of PyTorch Lightning"):
        convert_checkpoint(tmp_path / "page.ckpt", tmp_path / "model", SETTINGS, text)


def test_a_checkpoint_runs_nothing(model, text, tmp_path):
    class Attack:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",))

    path = tmp_path / "a.ckpt"
    torch.save({"state_dict": theirs(model.state_dict(), "salsa"), "callbacks": Attack()}, path)
    convert_checkpoint(path, tmp_path / "model", SETTINGS, text)
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def clotho(tmp_path):
    """The evaluation split alone: its folder with three clips, and its tables."""
    folder = tmp_path / "clotho"
    write_clotho(folder, {"evaluation": CLOTHO["evaluation"]}, challenge=False)
    random = np.random.default_rng(0)
    (folder / "evaluation").mkdir()
    for name, seconds in (("tram.wav", 15), ("lost.wav", 4), ("hail.wav", 11)):
        sound = random.standard_normal(44_100 * seconds) * 0.05
        soundfile.write(folder / "evaluation" / name, sound, 44_100)
    tables = read_clotho(folder, splits=["evaluation"])
    room = folder / "checkpoint"
    write_shards(tables.clips, open_audio(folder), folder / "shards", "flac", checkpoint=room)
    return folder, tables


def test_what_is_fetched_in_parts_is_scored_beside_what_is_printed(model, text, clotho, tmp_path):
    folder, tables = clotho
    path = checkpoint(tmp_path / "whole.ckpt", theirs(model.state_dict(), "dcase2025"))
    with zipfile.ZipFile(tmp_path / "share.zip", "w") as archive:  # as a share of a folder is sent
        archive.write(path, "model/whole.ckpt")
    content = (tmp_path / "share.zip").read_bytes()
    files = {"/0.ckpt": content[:1000], "/1.ckpt": content[1000:]}
    target, locks = tmp_path / "published" / "dcase2025", [tmp_path / "0.json", tmp_path / "1.json"]
    with serving(Behaviour(files=files)) as address:
        urls = [f"{address}{name}" for name in files]
        download_checkpoint(urls, target, SETTINGS, text, locks)
    assert [path.name for path in target.parent.iterdir()] == ["dcase2025"]
    assert json.loads(locks[1].read_text())["size"] == len(content) - 1000
    shards = folder / "shards"
    metrics = score_models(
        {"dcase2025": target}, tables.clips, tables.captions, shards, 30.0, "cpu"
    )
    printed = pd.read_csv("resources/published/audio_table2.csv")
    long = published.numbers(metrics, printed, scale="custom").set_index("metric")
    best = long.loc["map_at_10"]
    assert (best["published"], best["clips"], best["queries"]) == (35.23, 3, 15)
    assert best["difference"] == pytest.approx(best["value"] - 35.23)
    assert best["value"] == pytest.approx(100 * plain_precision(model.eval(), folder))
    assert "35.23" in str(published.table(long.reset_index(), "", "").rows)


@torch.no_grad()
def plain_precision(model, folder):
    """The mean of 1 / rank of every caption's clip among the three."""
    paths = sorted((folder / "evaluation").glob("*.wav"))
    sounds = [soxr.resample(soundfile.read(path)[0], 44_100, 32_000) for path in paths]
    audio = torch.cat(
        [model.embed_audio(torch.tensor(sound)[None].float(), [len(sound)]) for sound in sounds]
    )
    reciprocal = []
    for own, path in enumerate(paths):
        scores = model.embed_text(model.text.tokenize(captions_of(path.name))) @ audio.T
        reciprocal += (1 / (1 + (scores > scores[:, own : own + 1]).sum(1))).tolist()
    return np.mean(reciprocal)
