"""The joint model: segments, what an embedding depends on, a step's draws."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from audio_small_models import SMALL, small_model
from torch.nn import functional

from triptych.audio.models.retrieval import (
    Augmentation,
    RetrievalModel,
    draw_augmentation,
    segments_with_audio,
)
from triptych.audio.models.settings import ModelSettings

SEGMENT = 16000  # samples
EVERYTHING = SimpleNamespace(frequency_mask=48, time_mask=20, band_jitter=True, patchout=True)


@pytest.fixture(scope="module")
def model():
    return small_model()


def noise(samples, seed=0):
    return 0.1 * torch.randn(samples, generator=torch.Generator().manual_seed(seed))


def batch(*recordings):
    longest = max(map(len, recordings))
    rows = [functional.pad(recording, (0, longest - len(recording))) for recording in recordings]
    return torch.stack(rows), torch.tensor([len(recording) for recording in recordings])


@torch.no_grad()
def embed(model, *recordings):
    return model.embed_audio(*batch(*recordings))


def test_segments_that_are_padding_alone_are_left_out():
    recordings = [noise(25, 1), noise(10, 2), noise(1, 3)]
    waveforms, lengths = batch(*recordings)
    segments, owners = segments_with_audio(waveforms, lengths.tolist(), 10)
    assert owners.tolist() == [0, 0, 0, 1, 2]
    assert torch.equal(segments[:3].flatten()[:25], recordings[0])
    assert torch.equal(segments[3], recordings[1])
    assert segments[2, 5:].eq(0).all() and segments[4, 1:].eq(0).all()


def test_an_embedding_is_the_projected_mean_over_segments(model):
    recording = noise(2 * SEGMENT + 900)
    padded = functional.pad(recording, (0, SEGMENT - 900))
    with torch.no_grad():
        parts = [model.audio(model.mel(part[None])) for part in padded.split(SEGMENT)]
        layer = model.project_audio[0]
        expected = layer(sum(parts) / 3)
    assert torch.allclose(embed(model, recording), expected / expected.norm(), atol=1e-5)


def test_a_projection_with_a_hidden_layer_is_two_products_with_a_relu_between(model):
    settings = replace(model.settings, projection_hidden=7)
    deep = RetrievalModel(settings, model.audio, model.text)
    for projection, width in (
        (deep.project_audio, model.settings.audio.dim),
        (deep.project_sentence, model.text.config["hidden_size"]),
    ):
        given = torch.randn(3, width)
        one, two = projection[0], projection[2]
        hidden = (given @ one.weight.T + one.bias).clamp(min=0)
        assert torch.allclose(projection(given), hidden @ two.weight.T + two.bias, atol=1e-6)
    assert len(model.project_audio) == 1  # the report's is linear
    assert ModelSettings.from_table(json.loads(json.dumps(settings.to_table()))) == settings


def test_an_embedding_does_not_depend_on_the_rest_of_the_batch(model):
    recordings = [noise(SEGMENT + 5, 1), noise(3 * SEGMENT, 2), noise(400, 3)]
    together = embed(model, *recordings)
    alone = torch.cat([embed(model, recording) for recording in recordings])
    assert torch.allclose(together, alone, atol=1e-6)
    assert torch.allclose(together.norm(dim=1), torch.ones(3))


def test_a_steps_draws_reach_the_spectrogram_and_the_patches(model):
    waveforms, lengths = batch(noise(SEGMENT), noise(2 * SEGMENT))
    draws = draw_augmentation(SMALL, EVERYTHING, torch.Generator().manual_seed(3))
    with torch.no_grad():
        plain = model.embed_audio(waveforms, lengths)
        for name in ("band", "masks", "patchout"):
            one = Augmentation(**{name: getattr(draws, name)})
            found = model.embed_audio(waveforms, lengths, one)
            assert not torch.allclose(found, plain, atol=1e-6)
            assert torch.equal(found, model.embed_audio(waveforms, lengths, one))
