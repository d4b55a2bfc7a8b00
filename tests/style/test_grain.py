"""The noise beside a photograph: its waves by a Fourier transform, its parts, what it is for."""

import math

import pytest
import torch

from triptych.style.network.architecture import Architecture
from triptych.style.network.grain import STRENGTH, WAVES, Grain
from triptych.style.network.network import TransformationNetwork

ORIGIN = torch.zeros(1, 2)


def test_it_is_the_sum_of_its_waves():
    grain = Grain(2).double()
    found = grain(torch.zeros(1, 3, 40, 30, dtype=torch.float64), torch.tensor([[5, 9]]))
    for y, x in ((0, 0), (39, 29), (7, 21)):
        for channel in range(2):
            down, right = grain.frequency[:, channel].tolist()
            turns = zip(down, right, grain.phase[channel].tolist(), strict=True)
            waves = [math.cos(a * (y + 5) + b * (x + 9) + turn) for a, b, turn in turns]
            expected = STRENGTH * math.sqrt(2 / WAVES) * math.fsum(waves)
            assert float(found[0, channel, y, x]) == pytest.approx(expected, abs=1e-10)


def test_a_part_has_the_wholes_grain_and_each_image_its_own():
    grain = Grain(3)
    whole = grain(torch.zeros(1, 3, 90, 70), ORIGIN)
    parts = grain(torch.zeros(2, 3, 20, 30), torch.tensor([[10, 40], [60, 3]]))
    torch.testing.assert_close(parts[0], whole[0, :, 10:30, 40:70], rtol=0, atol=1e-5)
    torch.testing.assert_close(parts[1], whole[0, :, 60:80, 3:33], rtol=0, atol=1e-5)
    assert (parts[0] - parts[1]).std() > STRENGTH


@pytest.mark.parametrize(("grain", "painted"), [(0, False), (2, True)])
def test_only_with_grain_has_one_colour_more_than_one_afterwards(grain, painted):
    torch.manual_seed(0)
    network = TransformationNetwork(Architecture(4, "nearest", (0,), True, grain)).double().eval()
    with torch.no_grad():
        flat = network(torch.full((1, 3, 64, 64), 0.3, dtype=torch.float64))[0, :, 16:-16, 16:-16]
    assert (float(flat.std((1, 2)).max()) > 0.01) == painted
