"""Embeddings: each clip once, in the given order, whatever the batches; figures of a validation."""

import numpy as np
import pytest
import tiny_retrieval as job
import torch
from retrieval_runs import made_up_split
from torch.nn import functional

from triptych.audio import embedding
from triptych.audio.embedding import embed_clips
from triptych.audio.embedding_files import read_embeddings, write_embeddings
from triptych.audio.training.trainer import validation_scores
from triptych.core.errors import InputError


class Counting(job.Noise):
    def __init__(self):
        self.asked = []

    def read(self, clip, start=0, frames=None):
        self.asked.append(clip)
        return super().read(clip, start, frames)


@pytest.mark.parametrize("seconds", [0.001, 100.0])
def test_clips_are_embedded_once_each_in_their_order_whatever_the_batches(monkeypatch, seconds):
    monkeypatch.setitem(embedding.BATCH_SECONDS, "cpu", seconds)
    model, store = job.tiny_model(), Counting()
    rows = embed_clips(model, store, job.CLIPS, job.CPU, "float32")
    assert sorted(store.asked) == sorted(job.CLIPS)
    for clip, row in zip(job.CLIPS, rows, strict=True):
        sound = torch.from_numpy(store.read(clip))
        with torch.inference_mode():
            alone = model.eval().embed_audio(sound[None], torch.tensor([len(sound)]))[0]
        np.testing.assert_allclose(row, alone, atol=1e-6)


def test_the_validation_map_is_that_of_the_report():
    split = made_up_split("validation", 3.0, seed=1, clips=40, captions=2)
    reciprocal = []
    for row, clip in zip(split.text @ split.audio.T, split.query_clips, strict=True):
        best = split.clips[np.argsort(-row)[:10]].tolist()
        reciprocal.append(1 / (1 + best.index(clip)) if clip in best else 0)
    assert 0.1 < np.mean(reciprocal) < 0.9
    found = validation_scores(split, torch.tensor([0.1]), 8)
    assert found.map_at_10 == pytest.approx(np.mean(reciprocal), abs=1e-12)


def test_the_validation_loss_is_the_mean_over_batches_of_one_caption_a_clip():
    split = made_up_split("validation", 3.0, seed=1, clips=7, captions=3)
    losses = []
    for position in range(3):
        for clips in ((0, 1, 2), (3, 4, 5)):  # the seventh would be alone
            audio = torch.from_numpy(split.audio[list(clips)])
            text = torch.from_numpy(split.text[[3 * clip + position for clip in clips]])
            scores, true = audio @ text.T / 0.2, torch.arange(3)
            both = functional.cross_entropy(scores, true), functional.cross_entropy(scores.T, true)
            losses.append(float(sum(both) / 2))
    found = validation_scores(split, torch.tensor([-0.2], requires_grad=True), 3)
    assert found.loss == pytest.approx(np.mean(losses), rel=1e-5)


def test_embeddings_are_read_as_they_were_written_and_other_files_refused(tmp_path):
    splits = {
        "validation": made_up_split("validation", 1.0, seed=0, clips=3),
        "challenge": made_up_split("challenge", 1.0, seed=1, clips=2, captions=0),
    }
    write_embeddings(tmp_path / "good.npz", splits)
    read = read_embeddings(tmp_path / "good.npz")
    assert list(read) == ["validation", "challenge"]
    for name, split in splits.items():
        for column, expected in vars(split).items():
            stored = getattr(read[name], column)
            np.testing.assert_array_equal(stored, expected)
            assert stored.dtype.kind == expected.dtype.kind
    (tmp_path / "a.npz").write_bytes(b"PK nothing")
    np.savez(tmp_path / "b.npz", other=np.zeros(3))
    for name in ("a.npz", "b.npz", "absent.npz"):
        with pytest.raises(InputError, match="cannot be read as embeddings"):
            read_embeddings(tmp_path / name)
