"""Tiles against the network's own single pass."""

import pytest
import torch
from random_networks import image, network

from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.tiling import stylise_tiled


@pytest.mark.parametrize("upsampling", ["transposed", "nearest"])
@pytest.mark.parametrize(
    ("blocks", "palette", "halved"),
    [((0, 0), False, False), ((0, 1, 2), True, False), ((2, 1), False, True), ((0,), True, True)],
)
@pytest.mark.parametrize(
    ("height", "width", "tile"),
    [(32, 32, 4), (37, 50, 20), (45, 33, 32), (34, 61, 7), (40, 40, 99)],
)
def test_tiles_equal_one_pass_in_float64(upsampling, blocks, palette, halved, height, width, tile):
    exact = network(upsampling, blocks, palette, halved=halved).double()
    picture = image(height, width).double()
    tiled = stylise_tiled(PreparedNetwork(exact, "float64"), picture, tile=tile)
    assert tiled.shape == picture.shape
    torch.testing.assert_close(tiled * 255, exact(picture[None])[0] * 255, rtol=0, atol=1e-9)
