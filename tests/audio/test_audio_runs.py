"""From the files of a corpus to the folders of trained models, with a real model of tiny size."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny_corpus as tiny
import torch
from PIL import Image
from stops import Never, StopAfter

from triptych.audio.data.shards import ClipStore
from triptych.audio.embedding_files import read_embeddings
from triptych.audio.models.retrieval import load_model
from triptych.audio.scoring.metrics import columns_of, mean_average_precision, similarities
from triptych.audio.training import runs
from triptych.audio.training.batches import Batches
from triptych.audio.training.runs import result_fingerprint, train_runs
from triptych.core.errors import InputError
from triptych.core.files import partial_prefix
from triptych.core.provenance import Fingerprint
from triptych.core.stopping import Stopped

MADE_FROM = Fingerprint({"data": "digest"})
FILES = ["embeddings.npz", "history.csv", "model.json", "model.safetensors", "tokenizer.json"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("corpus"))


def pretrain(corpus, folder, stop=None, **changes):
    train_runs(
        [tiny.run("pretrained")],
        [folder / "pretrained"],
        tiny.plan(corpus, untrained=True, **changes),
        "cpu",
        folder / "checkpoint",
        MADE_FROM,
        stop or Never(),
    )
    return folder / "pretrained"


@pytest.fixture(scope="module")
def pretrained(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return pretrain(corpus, folder, shown=folder / "training")


def test_a_training_shows_its_curves_after_each_epoch(corpus, pretrained, tmp_path):
    """As CSV and picture, also where it is stopped later on; they change nothing."""
    columns = ["epoch", "train_loss", "validation_loss", "validation_map_at_10"]
    history = pd.read_csv(pretrained / "history.csv")
    shown = pd.read_csv(pretrained.parent / "training/pretrained.csv")
    pd.testing.assert_frame_equal(shown[columns], history[columns])
    (tmp_path / "training").mkdir()
    killed = tmp_path / "training" / f"{partial_prefix(Path('pretrained.png'))}killed.png"
    killed.touch()
    with pytest.raises(Stopped):
        stop = StopAfter(int(history["step"][1]) + 2)
        pretrain(corpus, tmp_path, stop, shown=tmp_path / "training")
    assert not killed.exists()
    first = pd.read_csv(tmp_path / "training/pretrained.csv")
    assert 0 < len(first) < len(history)
    pd.testing.assert_frame_equal(first[columns], history[columns].head(len(first)))
    assert Image.open(tmp_path / "training/pretrained.png").size[0] > 400


def finetune(corpus, pretrained, folder, runs):
    plan = tiny.plan(corpus, start=lambda seed: load_model(pretrained), datasets=["clotho"])
    folders = [folder / f"{run['captions']}-seed{run['seed']}" for run in runs]
    train_runs(runs, folders, plan, "cpu", folder / "checkpoint", MADE_FROM, Never())
    return folders


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
def test_a_pretrained_folder_holds_all_that_rebuilds_and_judges_the_model(corpus, pretrained):
    assert names(pretrained) == [*FILES, "untrained"]
    about = json.loads((pretrained / "model.json").read_text())["about"]
    history = pd.read_csv(pretrained / "history.csv")
    assert history["epoch"].tolist() == [1, 2, 3, 4]
    assert set(history["stage"]) == {"pretrained"}
    [chosen] = history[history["chosen"] == 1].to_dict("records")
    assert (about["epoch"], about["run"]) == (chosen["epoch"], tiny.run("pretrained"))
    assert chosen["validation_map_at_10"] == history["validation_map_at_10"].max()

    splits = read_embeddings(pretrained / "embeddings.npz")
    assert list(splits) == ["validation", "evaluation", "challenge"]
    assert splits["challenge"].captions.tolist() == ["query 0", "query 1"]
    assert splits["challenge"].query_clips.tolist() == ["", ""]
    split = splits["validation"]
    columns = columns_of(split.query_clips, split.clips)
    precision = mean_average_precision(similarities(split.text, split.audio), columns)
    assert precision == chosen["validation_map_at_10"]

    model, store = load_model(pretrained), ClipStore([corpus / "shards"])
    table = pd.read_csv(corpus / "manifest.csv")
    for name, split in splits.items():
        assert split.clips.tolist() == table["clip"][table["role"] == name].tolist()
        with torch.inference_mode():  # one by one
            text = model.embed_text(model.text.tokenize(split.captions[-1:].tolist()))
            for clip, row in zip(split.clips.tolist(), split.audio, strict=True):
                sound = torch.from_numpy(store.read(clip)[:16_000])
                alone = model.embed_audio(sound[None], [len(sound)])[0]
                np.testing.assert_allclose(row, alone, atol=1e-5)
        np.testing.assert_allclose(split.text[-1], text[0], atol=1e-5)


@pytest.mark.slow
def test_a_stopped_run_leaves_no_folder_and_ends_with_the_same_bytes(corpus, pretrained, tmp_path):
    with pytest.raises(Stopped):
        pretrain(corpus, tmp_path, StopAfter(7))
    assert names(tmp_path) == ["checkpoint"]
    folder = pretrain(corpus, tmp_path)
    for file in (*FILES, "untrained/embeddings.npz"):
        assert (folder / file).read_bytes() == (pretrained / file).read_bytes()


@pytest.mark.slow
def test_what_was_begun_in_another_precision_is_not_continued(
    corpus, tmp_path, monkeypatch, caplog
):
    """Auto may stand for another one after a job has moved to another machine."""
    training = dataclasses.replace(tiny.TRAINING, precision="auto")
    monkeypatch.setattr(runs, "choose_precision", lambda *_: "bf16")
    with pytest.raises(Stopped):
        pretrain(corpus, tmp_path, StopAfter(3), training=training)
    monkeypatch.setattr(runs, "choose_precision", lambda *_: "float32")
    folder = pretrain(corpus, tmp_path, training=training)
    assert "was made with other precision" in caplog.text
    about = json.loads((folder / "model.json").read_text())["about"]
    assert about["training"]["precision"] == "float32"


@pytest.mark.slow
def test_a_finished_run_is_not_trained_again_when_another_joins_it(
    corpus, pretrained, tmp_path, monkeypatch
):
    human, gpt = tiny.run("finetuned", "human"), tiny.run("finetuned", "gpt")
    [first] = finetune(corpus, pretrained, tmp_path, [human])
    before = {file: (first / file).read_bytes() for file in FILES}
    swaps = []
    plain = Batches.__getitem__

    def watched(self, step):
        batch = plain(self, step)
        swaps.extend(caption.startswith("variation") for caption in batch.captions)
        return batch

    monkeypatch.setattr(Batches, "__getitem__", watched)
    first, second = finetune(corpus, pretrained, tmp_path, [human, gpt])
    assert len(swaps) == 4 * 12  # epochs of the second run alone; Clotho's 12 pairs
    assert any(swaps)
    assert {file: (first / file).read_bytes() for file in FILES} == before
    assert (second / "model.safetensors").read_bytes() != before["model.safetensors"]


def test_pairs_are_the_training_clips_with_their_captions(corpus):
    pairs = tiny.corpus(corpus).pairs(None, "human")
    table = pd.read_csv(corpus / "captions.csv")
    trained = table[table["clip"].str.startswith(("clotho/development", "wavcaps/FreeSound"))]
    expected = set(trained.itertuples(index=False, name=None))
    assert {(pair.clip, pair.position, pair.caption) for pair in pairs} == expected
    assert len(pairs) == len(expected) == 6 * 2 + 6
    assert not any(pair.variations for pair in pairs)


def test_of_a_data_set_with_one_caption_a_clip_only_the_first_is_trained_on(corpus):
    whole = tiny.corpus(corpus)
    every = whole.pairs(None, "human")
    first = [pair for pair in every if pair.clip.startswith("wavcaps") or pair.position == 0]
    one = dataclasses.replace(whole, one_caption=["clotho"])
    assert one.pairs(None, "human") == first and len(first) == 12
    other = dataclasses.replace(whole, one_caption=["audiocaps"])
    assert other.pairs(None, "human") == every


def test_a_training_clip_without_caption_is_told(corpus, tmp_path):
    table = pd.read_csv(corpus / "captions.csv")
    table[table["clip"] != table["clip"][0]].to_csv(tmp_path / "captions.csv", index=False)
    silent = dataclasses.replace(tiny.corpus(corpus), captions=[tmp_path / "captions.csv"])
    with pytest.raises(InputError, match=r"1 training clips .* no caption"):
        silent.pairs(None, "human")


def test_a_digest_tells_what_determines_a_result_and_nothing_else(corpus, tmp_path):
    (tmp_path / "index.csv").write_text("a")
    params = {"training": {"batch": 4, "workers": 0}, "runs": [1], "checkpoint": "x"}
    params["code"] = {"losses.py": "y"}

    def digest(folder=tmp_path, **changes):
        return result_fingerprint({**params, **changes}, [corpus / "manifest.csv", folder])

    first = digest()
    assert digest(runs=[1, 2], checkpoint="z", training={"batch": 4, "workers": 7}) == first
    assert digest(training={"batch": 5, "workers": 0}) != first
    assert digest(code={"losses.py": "z"}) != first
    (tmp_path / "0.bin").write_text("not looked at: the index tells of it")
    assert digest() == first
    (tmp_path / "index.csv").write_text("b")
    assert digest() != first
