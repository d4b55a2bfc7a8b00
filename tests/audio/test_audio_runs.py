"""From the files of a corpus to the folders of trained models, with a real model of tiny size."""

import dataclasses
import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny_corpus as tiny
import torch
from PIL import Image
from stops import Never, StopAfter

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
    whole = pd.read_csv(pretrained / "history.csv")[columns]
    shown = pd.read_csv(pretrained.parent / "training/pretrained.csv")[columns]
    pd.testing.assert_frame_equal(shown, whole)
    steps = int(pd.read_csv(pretrained / "history.csv")["step"].iloc[1])
    (tmp_path / "training").mkdir()
    killed = tmp_path / "training" / f"{partial_prefix(Path('pretrained.png'))}killed.png"
    killed.touch()
    with pytest.raises(Stopped):
        pretrain(corpus, tmp_path, StopAfter(steps + 2), shown=tmp_path / "training")
    assert not killed.exists()
    first = pd.read_csv(tmp_path / "training/pretrained.csv")[columns]
    pd.testing.assert_frame_equal(first, whole[: len(first)])
    assert 0 < len(first) < len(whole)
    assert Image.open(tmp_path / "training/pretrained.png").size[0] > 400


def finetune(corpus, pretrained, folder, runs, **changes):
    start = partial(lambda folder, seed: load_model(folder), pretrained)
    plan = tiny.plan(corpus, start=start, datasets=["clotho"], **changes)
    folders = [folder / f"{run['captions']}-seed{run['seed']}" for run in runs]
    train_runs(runs, folders, plan, "cpu", folder / "checkpoint", MADE_FROM, Never())
    return folders


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
def test_a_pretrained_folder_holds_all_that_rebuilds_and_judges_the_model(corpus, pretrained):
    assert names(pretrained) == [*FILES, "untrained"]
    about = json.loads((pretrained / "model.json").read_text())["about"]
    history = pd.read_csv(pretrained / "history.csv", keep_default_na=False)
    assert history["epoch"].tolist() == [1, 2, 3, 4]
    assert set(history["stage"]) == {"pretrained"}
    chosen = history[history["chosen"] == 1].iloc[0]
    assert about["epoch"] == chosen["epoch"]
    assert about["run"] == tiny.run("pretrained")

    split = read_embeddings(pretrained / "embeddings.npz")["validation"]
    scores = similarities(split.text, split.audio)
    columns = columns_of(split.query_clips, split.clips)
    assert mean_average_precision(scores, columns) == chosen["validation_map_at_10"]
    assert chosen["validation_map_at_10"] == history["validation_map_at_10"].max()


@pytest.mark.slow
def test_embeddings_are_those_of_the_stored_model_one_by_one(corpus, pretrained):
    model = load_model(pretrained)
    splits = read_embeddings(pretrained / "embeddings.npz")
    assert list(splits) == ["validation", "evaluation", "challenge"]
    for name, split in splits.items():
        table = pd.read_csv(corpus / "manifest.csv")
        assert split.clips.tolist() == table["clip"][table["role"] == name].tolist()
        store = tiny_store(corpus)
        for clip, row in zip(split.clips.tolist(), split.audio, strict=True):
            sound = torch.from_numpy(store.read(clip)[:16_000])
            with torch.inference_mode():
                alone = model.embed_audio(sound[None], [len(sound)])[0]
            np.testing.assert_allclose(row, alone, atol=1e-5)
        with torch.inference_mode():
            alone = model.embed_text(model.text.tokenize(split.captions[-1:].tolist()))
        np.testing.assert_allclose(split.text[-1], alone[0], atol=1e-5)
    assert splits["challenge"].captions.tolist() == ["query 0", "query 1"]
    assert splits["challenge"].query_clips.tolist() == ["", ""]


def tiny_store(corpus):
    from triptych.audio.data.shards import ClipStore

    return ClipStore([corpus / "shards"])


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
    assert len(pairs) == 6 * 2 + 6
    assert {pair.clip.rpartition("/")[0] for pair in pairs} == {
        "clotho/development",
        "wavcaps/FreeSound",
    }
    assert not any(pair.variations for pair in pairs)
    table = pd.read_csv(corpus / "captions.csv")
    told = {(row.clip, row.position): row.caption for row in table.itertuples()}
    assert all(told[pair.clip, pair.position] == pair.caption for pair in pairs)


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
    with pytest.raises(InputError, match=r"1 training clips .* no caption"):
        silent = dataclasses.replace(tiny.corpus(corpus), captions=[tmp_path / "captions.csv"])
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
