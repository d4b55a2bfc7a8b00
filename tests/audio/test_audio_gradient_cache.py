"""Gradients in parts are those of the whole batch, dropout and all."""

import pytest
import tiny_retrieval as job
import torch

from triptych.audio.training.losses import backward

SOUND = torch.randn(7, 240, generator=torch.Generator().manual_seed(0))
LENGTHS = torch.full((7,), 240)
CAPTIONS = [f"caption number {'abcdefg'[n] * n}" for n in range(7)]


def a_model(dropout):
    torch.manual_seed(1)
    return job.TinyModel(dropout).train()


def seeded(model, rows, seed):
    """Embeddings of some rows; the same dropout for the same seed."""
    torch.manual_seed(seed)
    tokens = model.text.tokenize(CAPTIONS[rows])
    return model.embed_audio(SOUND[rows], LENGTHS[rows]), model.embed_text(tokens)


def loss_of(model):
    objective = job.contrastive(model)
    return lambda audio, text: objective(audio, text, torch.arange(len(audio)))


def gradients(model):
    return {name: value.grad for name, value in model.named_parameters()}


@pytest.mark.parametrize("size", [7, 3])
def test_parts_give_the_gradients_of_plain_autograd(size):
    parts = [slice(first, first + size) for first in range(0, 7, size)]
    cached, plain = a_model(0.3), a_model(0.3)
    value = backward(lambda part: seeded(cached, parts[part], part), len(parts), loss_of(cached))
    pairs = [seeded(plain, rows, number) for number, rows in enumerate(parts)]
    audio, text = (torch.cat(side) for side in zip(*pairs, strict=True))
    expected = loss_of(plain)(audio, text)
    expected.backward()
    assert float(value) == pytest.approx(expected.item(), rel=1e-6)
    for name, gradient in gradients(plain).items():
        assert gradient.abs().max() > 1e-4
        torch.testing.assert_close(gradients(cached)[name], gradient, rtol=1e-5, atol=1e-6)


def test_a_scaled_loss_gives_scaled_gradients_and_the_plain_value():
    scaled, plain = a_model(0.0), a_model(0.0)
    values = [
        backward(lambda _, m=model: seeded(m, slice(0, 7), 0), 1, loss_of(model), scale)
        for model, scale in ((scaled, lambda loss: 1024 * loss), (plain, lambda loss: loss))
    ]
    assert values[0] == values[1]
    for name, gradient in gradients(plain).items():
        torch.testing.assert_close(gradients(scaled)[name] / 1024, gradient, rtol=1e-5, atol=1e-8)
