"""Where a GPU's memory runs out in the audio study, the work is done with half as much at a time.

On a CPU; a model that refuses more than so many rows at once stands in for the GPU.
"""

import pytest
import torch
import trainings as small
from stops import StopAfter

from triptych.core.stopping import Stopped


def test_an_audio_training_ends_with_the_same_weights(tmp_path, caplog):
    expected = small.train_audio(tmp_path / "whole", dropout=0.0)
    with small.room_for(small.audio.TinyModel, "embed_audio", 3, when=torch.is_grad_enabled):
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
