"""The network rearranged for inference, against the network itself."""

import pytest
import torch
from random_networks import image, network

from triptych.style.network.fast import PreparedNetwork

SIZES = [(32, 32), (37, 50)]
SHAPES = [
    ((0, 0), False, False),
    ((0, 1, 2), True, False),
    ((0, 0), False, True),
    ((1,), True, True),
]
"""Residual blocks, whether there is a palette, and whether no layer is at full size."""


@pytest.mark.parametrize("upsampling", ["transposed", "nearest"])
@pytest.mark.parametrize(("blocks", "palette", "halved"), SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_same_function_in_float64(upsampling, blocks, palette, halved, size):
    exact = network(upsampling, blocks, palette, halved=halved).double()
    pictures = torch.stack([image(*size), image(*size).flip(-1)]).double()
    prepared = PreparedNetwork(exact, "float64")(pictures)
    torch.testing.assert_close(prepared, exact(pictures), rtol=0, atol=1e-11)


@pytest.mark.parametrize("upsampling", ["transposed", "nearest"])
def test_in_float32_it_is_as_near_to_the_truth_as_the_network(upsampling):
    """On enough pixels that careless sums would show."""
    plain, picture = network(upsampling, width=8), image(260, 300)[None]
    theirs, ours = plain(picture), PreparedNetwork(plain)(picture)
    truth = plain.double()(picture.double())
    assert ours.dtype == torch.float32
    assert (ours - truth).abs().max() < 2 * (theirs - truth).abs().max()


@pytest.mark.parametrize(("precision", "largest"), [("bf16", 0.25), ("fp16", 0.03)])
def test_half_precision_is_near_and_given_as_float32(precision, largest):
    plain, picture = network(), image(48, 40)[None]
    exact, half = plain(picture), PreparedNetwork(plain, precision)(picture)
    assert half.dtype == torch.float32
    assert 0 < (half - exact).abs().max() < largest * exact.std()
