"""Embeddings: each clip once, in the given order, whatever the batches; figures of a validation."""

import numpy as np
import pytest
import tiny_retrieval as job
import torch
from torch.nn import functional

from triptych.audio import embedding
from triptych.audio.embedding import embed_clips
from triptych.audio.embedding_files import Split
from triptych.audio.training.runs import figures


class Counting(job.Noise):
    def __init__(self):
        self.asked = []

    def read(self, clip, start=0, frames=None):
        self.asked.append(clip)
        return super().read(clip, start, frames)


def a_model():
    torch.manual_seed(0)
    return job.TinyModel().train()


@pytest.mark.parametrize("seconds", [0.001, 100.0])
def test_clips_are_embedded_once_each_in_their_order_whatever_the_batches(monkeypatch, seconds):
    monkeypatch.setitem(embedding.BATCH_SECONDS, "cpu", seconds)
    model, store = a_model(), Counting()
    rows = embed_clips(model, store, job.CLIPS, job.CPU, "float32")
    assert sorted(store.asked) == sorted(job.CLIPS)
    for clip, row in zip(job.CLIPS, rows, strict=True):
        sound = torch.from_numpy(store.read(clip))
        with torch.inference_mode():
            alone = model.eval().embed_audio(sound[None], torch.tensor([len(sound)]))[0]
        np.testing.assert_allclose(row, alone, atol=1e-6)


def a_split(clips=7, captions=3):
    random = np.random.default_rng(1)

    def unit(rows):
        values = random.standard_normal((rows, 5)).astype(np.float32)
        return values / np.linalg.norm(values, axis=1, keepdims=True)

    names = np.array([f"clip {number}" for number in range(clips)])
    return Split(
        names,
        unit(clips),
        np.array([f"caption {number}" for number in range(clips * captions)]),
        np.repeat(names, captions),
        unit(clips * captions),
    )


def test_the_validation_map_is_that_of_the_report():
    split = a_split(40, 2)
    scores = split.text @ split.audio.T
    reciprocal = []
    for row, clip in zip(scores, split.query_clips, strict=True):
        best = split.clips[np.argsort(-row)[:10]].tolist()
        reciprocal.append(1 / (1 + best.index(clip)) if clip in best else 0)
    found = figures(split, torch.tensor([0.1]), 8)
    assert found.map_at_10 == pytest.approx(np.mean(reciprocal), abs=1e-12)


def test_the_validation_loss_is_the_mean_over_batches_of_one_caption_a_clip():
    split = a_split(7, 3)
    losses = []
    for position in range(3):
        for clips in ((0, 1, 2), (3, 4, 5)):  # the seventh would be alone
            audio = torch.from_numpy(split.audio[list(clips)])
            text = torch.from_numpy(split.text[[3 * clip + position for clip in clips]])
            scores, true = audio @ text.T / 0.2, torch.arange(3)
            both = functional.cross_entropy(scores, true), functional.cross_entropy(scores.T, true)
            losses.append(float(sum(both) / 2))
    found = figures(split, torch.tensor([-0.2], requires_grad=True), 3)
    assert found.loss == pytest.approx(np.mean(losses), rel=1e-5)
