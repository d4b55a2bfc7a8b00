"""Tiles against the network's own single pass, and against the memory that was foretold."""

import subprocess
import sys

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


PEAK = """
import sys, torch
from triptych.core.memory import keep_freed_memory, peak_memory
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network import Architecture, TransformationNetwork
from triptych.style.network.tiling import stylise_tiled, tiled_bytes
torch.set_num_threads(1)
if sys.argv[1] == "kept":
    keep_freed_memory()
prepared = PreparedNetwork(TransformationNetwork(Architecture(16)))
image = torch.rand(3, 1240, 2016)
stylise_tiled(prepared, image[:, :64, :64])
before = peak_memory()
stylise_tiled(prepared, image)
peak = peak_memory()
print(peak - before, tiled_bytes(prepared, 1240, 2016))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("heap", ["kept", "returned"])
def test_the_peak_of_memory_is_what_was_foretold(heap):
    run = subprocess.run(
        [sys.executable, "-c", PEAK, heap], capture_output=True, text=True, check=True
    )
    taken, foretold = (int(number) for number in run.stdout.split())
    # One pass takes 550 MB. Holes in the heap vary from run to run: up to 62 MB were seen.
    assert 0.5 * foretold < taken < foretold + 120e6
