"""The losses against PyTorch's own and closed forms, and their gradients in parts."""

import pytest
import tiny_retrieval as job
import torch
from torch.nn import functional

from triptych.audio.training.losses import backward, nt_xent, same_audio

TAU = torch.tensor([0.1])


@pytest.fixture(scope="module")
def pairs():
    generator = torch.Generator().manual_seed(0)
    both = torch.randn(2, 6, 8, generator=generator, dtype=torch.float32)
    return functional.normalize(both, dim=2)


def test_with_identity_targets_it_is_the_mean_of_two_cross_entropies(pairs):
    audio, text = pairs
    logits, own = audio @ text.T / 0.1, torch.arange(6)
    both = functional.cross_entropy(logits, own) + functional.cross_entropy(logits.T, own)
    assert nt_xent(audio, text, TAU).item() == pytest.approx(both.item() / 2, rel=1e-6)


def test_several_positives_count_as_in_the_authors_formula(pairs):
    audio, text = pairs
    positives = same_audio(torch.tensor([3, 5, 3, 7, 5, 3]))
    assert positives.sum() == 14  # 3 x 3 + 2 x 2 + 1
    logits = audio @ text.T / 0.1
    expected = [
        -(logits.softmax(over).log()[i, j]) / 2
        for over in (0, 1)
        for i, j in positives.nonzero().tolist()
    ]
    found = nt_xent(audio, text, TAU, positives).item()
    assert found == pytest.approx(sum(expected).item() / 14, rel=1e-5)


def embedded(model, rows, seed):
    """Embeddings of some of seven pairs; the same dropout for the same seed."""
    torch.manual_seed(seed)
    sound = torch.randn(7, 240, generator=torch.Generator().manual_seed(0))[rows]
    tokens = model.text.tokenize([f"caption {'abcdefg'[n] * n}" for n in range(7)][rows])
    return model.embed_audio(sound, torch.full((len(sound),), 240)), model.embed_text(tokens)


@pytest.mark.parametrize(("size", "scale"), [(7, 1), (3, 1), (3, 1024)])
def test_parts_give_the_gradients_of_plain_autograd_dropout_and_all(size, scale):
    """And those of a scaled loss, with the plain value."""
    parts = [slice(first, first + size) for first in range(0, 7, size)]
    cached, plain = job.tiny_model(dropout=0.3), job.tiny_model(dropout=0.3)
    value = backward(
        lambda part: embedded(cached, parts[part], part),
        len(parts),
        lambda audio, text: nt_xent(audio, text, cached.temperature),
        lambda loss: scale * loss,
    )
    both = [embedded(plain, rows, number) for number, rows in enumerate(parts)]
    audio, text = (torch.cat(side) for side in zip(*both, strict=True))
    expected = nt_xent(audio, text, plain.temperature)
    expected.backward()
    assert float(value) == pytest.approx(expected.item(), rel=1e-6)
    for found, parameter in zip(cached.parameters(), plain.parameters(), strict=True):
        assert parameter.grad.abs().max() > 1e-4
        torch.testing.assert_close(found.grad / scale, parameter.grad, rtol=1e-5, atol=1e-6)
