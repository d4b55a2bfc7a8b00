"""Where a GPU's memory runs out in the audio study, the work is done with half as much at a time.

On a CPU; a model that refuses more than so many rows at once stands in for the GPU.
"""

import numpy as np
import pytest
import torch
import trainings as small
from stops import StopAfter

from triptych.audio.embedding import embed_captions, embed_clips
from triptych.core.stopping import Stopped


@pytest.mark.parametrize("only_with_gradients", [False, True])
def test_an_audio_training_ends_with_the_same_weights(tmp_path, caplog, only_with_gradients):
    expected = small.train_audio(tmp_path / "whole", dropout=0.0)
    with small.room_for(
        small.audio.TinyModel,
        "embed_audio",
        3,
        when=torch.is_grad_enabled if only_with_gradients else lambda: True,
    ):
        found = small.train_audio(tmp_path / "parts", dropout=0.0)
    assert small.halvings(caplog) == [(8, 4), (4, 2)]
    for name, value in expected.weights.items():
        torch.testing.assert_close(found.weights[name], value, rtol=0, atol=1e-5)


def test_a_resumed_audio_training_knows_what_fits(tmp_path, caplog):
    with small.room_for(small.audio.TinyModel, "embed_audio", 3):
        with pytest.raises(Stopped):
            small.train_audio(tmp_path, StopAfter(2))
        assert len(small.halvings(caplog)) == 2
        caplog.clear()
        small.train_audio(tmp_path)
    assert small.halvings(caplog) == []


def test_dropout_of_a_retried_step_is_that_of_a_chunk_of_that_size(tmp_path):
    """With dropout, what fits at once matters; but no more than the config's `chunk` does."""
    expected = small.train_audio(tmp_path / "chunk", chunk=2)
    with small.room_for(small.audio.TinyModel, "embed_audio", 3):
        found = small.train_audio(tmp_path / "parts")
    for name, value in expected.weights.items():
        assert torch.equal(found.weights[name], value)


def test_embeddings_are_the_same_from_smaller_batches(caplog):
    torch.manual_seed(0)
    model, store = small.audio.TinyModel(), small.audio.Noise()
    captions = [pair.caption for pair in small.audio.PAIRS]

    def embedded():
        return (
            embed_clips(model, store, small.audio.CLIPS, small.CPU, "float32"),
            embed_captions(model, captions, small.CPU, "float32"),
        )

    expected = embedded()
    with (
        small.room_for(small.audio.TinyModel, "embed_audio", 4),
        small.room_for(
            small.audio.TinyModel, "embed_text", 100, size=lambda tokens: len(tokens["counts"])
        ),
    ):
        found = embedded()
    assert small.halvings(caplog) == [(12, 6), (6, 3)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
