"""The losses against PyTorch's own and against closed forms."""

import pytest
import torch
from torch.nn import functional

from triptych.audio.training.losses import nt_xent, same_audio

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
