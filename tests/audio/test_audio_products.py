"""Products by oneDNN are PyTorch's own, with their gradients."""

import pytest
import torch

from triptych.audio.models import passt as products
from triptych.audio.models.audio_encoders import PasstSettings
from triptych.audio.models.passt import Passt


@pytest.mark.parametrize("shape", [(5, 7, 24), (3, 24)])
def test_products_by_onednn_are_those_of_pytorch_with_their_gradients(shape):
    torch.manual_seed(0)
    inputs, layer = torch.randn(shape, requires_grad=True), torch.nn.Linear(24, 10)
    ours = products._Linear.apply(inputs, layer.weight, layer.bias)
    weighting = torch.randn_like(ours)
    given = (inputs, layer.weight, layer.bias)
    found = torch.autograd.grad((ours * weighting).sum(), given)
    expected = torch.autograd.grad((layer(inputs) * weighting).sum(), given)
    torch.testing.assert_close(ours, layer(inputs), atol=1e-5, rtol=0)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


def test_both_ways_of_a_product_give_the_same_embeddings(monkeypatch):
    torch.manual_seed(0)
    settings = PasstSettings(stride=(10, 10), frames=100, dim=48, depth=3, heads=4, patchout=(3, 2))
    passt, mel = Passt(settings).eval(), torch.randn(3, 1, 128, 100)
    found = []
    for own_way in (True, False):
        monkeypatch.setattr(products, "onednn_is_faster", lambda own_way=own_way: own_way)
        with torch.inference_mode():
            found.append(passt(mel))
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=1e-5)
