"""A photograph in a painting's colours, against a painting whose colours are known by lightness."""

import pytest
import torch

from triptych.style.data.colours import LIGHTNESSES, by_lightness
from triptych.style.data.images import luma


@pytest.fixture
def painting():
    """As many pixels of each of LIGHTNESSES colours, from dark to light, shuffled."""
    steps = torch.linspace(0, 1, LIGHTNESSES)
    colours = torch.stack([steps**2, 0.9 * steps, 0.3 + 0.2 * steps])
    order = torch.randperm(5 * LIGHTNESSES, generator=torch.Generator().manual_seed(0))
    return colours.repeat_interleave(5, 1)[:, order].view(3, 5, LIGHTNESSES), colours


def test_a_lightness_has_the_paintings_colour_at_its_place_in_order(painting):
    # A twentieth darkest and a twentieth lightest pixels: what a stretched photograph leaves.
    places = torch.cat([torch.zeros(10), torch.arange(LIGHTNESSES), torch.full((10,), 63.0)])
    photograph = (0.2 + 0.6 * places / (LIGHTNESSES - 1)).expand(3, 1, -1)
    found = by_lightness(photograph, painting[0])
    expected = painting[1][:, places.long()]
    torch.testing.assert_close(found[:, 0], expected, rtol=0, atol=1e-4)
    assert (luma(found)[0].diff() > -1e-6).all()


def test_a_photograph_of_little_contrast_is_stretched_four_times_at_most(painting):
    photograph = (0.5 + 0.05 * torch.linspace(0, 1, 100)).expand(3, 1, -1)
    light = luma(by_lightness(photograph, painting[0]))
    # 0.05 of a quarter: a fifth of the painting's colours, from the darkest on.
    brightest = luma(painting[1][:, None])[0, round(0.2 * (LIGHTNESSES - 1))]
    assert light.max() == pytest.approx(float(brightest), abs=0.02)
