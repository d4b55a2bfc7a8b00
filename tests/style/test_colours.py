"""A photograph in a painting's colours, against paintings whose colours are known."""

import pytest
import torch

from triptych.style.data.colours import (
    LIGHTNESSES,
    colours_of,
    in_colours_of,
    recoloured,
    with_moments_of,
)
from triptych.style.data.image_files import luma

HUES = torch.tensor([[0.587, -0.299, 0.0], [0.114, 0.0, -0.299]])
"""Two directions of no lightness."""


@pytest.fixture
def painting():
    """As many pixels of each of LIGHTNESSES colours, from dark to light, shuffled."""
    steps = torch.linspace(0, 1, LIGHTNESSES)
    colours = torch.stack([steps**2, 0.9 * steps, 0.3 + 0.2 * steps])
    order = torch.randperm(5 * LIGHTNESSES, generator=torch.Generator().manual_seed(0))
    return colours.repeat_interleave(5, 1)[:, order].view(3, 5, LIGHTNESSES), colours


def hued(seed, spread):
    """A picture [3, 20, LIGHTNESSES] from dark to light, without its hues, and the hues alone:
    of mean zero in each column, by `spread` along HUES."""
    hues = torch.randn(2, 10, LIGHTNESSES, generator=torch.Generator().manual_seed(seed))
    hues = torch.einsum("h,hij,hc->cij", torch.tensor(spread), torch.cat([hues, -hues], 1), HUES)
    return torch.linspace(0.3, 0.7, LIGHTNESSES).expand(3, 20, -1), hues


def test_a_lightness_has_the_paintings_colour_at_its_place_in_order(painting):
    # A twentieth darkest and a twentieth lightest pixels: what a stretched photograph leaves.
    places = torch.cat([torch.zeros(10), torch.arange(LIGHTNESSES), torch.full((10,), 63.0)])
    photograph = (0.2 + 0.6 * places / (LIGHTNESSES - 1)).expand(3, 1, -1)
    found = in_colours_of(photograph, painting[0])
    expected = painting[1][:, places.long()]
    torch.testing.assert_close(found[:, 0], expected, rtol=0, atol=1e-4)
    assert (luma(found)[0].diff() > -1e-6).all()


def test_lightnesses_spread_evenly_are_as_frequent_as_the_paintings(painting):
    """Whatever the photograph's are: here most are dark."""
    places = torch.arange(LIGHTNESSES)
    photograph = ((places / LIGHTNESSES) ** 4).expand(3, 1, -1)
    found = recoloured(photograph[None], colours_of([painting[0]]), even=1.0)[0]
    torch.testing.assert_close(found[:, 0], painting[1], rtol=0, atol=1e-4)


def test_a_photograph_of_little_contrast_is_stretched_four_times_at_most(painting):
    photograph = (0.5 + 0.05 * torch.linspace(0, 1, 100)).expand(3, 1, -1)
    light = luma(in_colours_of(photograph, painting[0]))
    # 0.05 of a quarter: a fifth of the painting's colours, from the darkest on.
    brightest = luma(painting[1][:, None])[0, round(0.2 * (LIGHTNESSES - 1))]
    assert light.max() == pytest.approx(float(brightest), abs=0.02)


def test_hues_are_moved_to_the_paintings_spread_by_the_least_linear_map():
    """Which is the one that is symmetric and has no negative eigenvalue (Brenier)."""
    grey, own = hued(1, (0.6, 1.0))
    base, wanted = hued(2, (0.1, 0.2))
    painting = base + wanted
    moved = in_colours_of(grey + own, painting) - in_colours_of(grey, painting)
    given, wanted, found = (each.flatten(1).double() for each in (own, wanted, moved))
    torch.testing.assert_close(torch.cov(found), torch.cov(wanted), rtol=0.1, atol=5e-5)
    linear = torch.linalg.lstsq(given.T, found.T, rcond=1e-3, driver="gelsd").solution
    torch.testing.assert_close(linear, linear.T, rtol=0, atol=0.01)
    assert torch.linalg.eigvalsh(linear).min() > -0.01


def test_hues_that_are_noise_stay_faint():
    grey, noise = hued(1, (0.003, 0.003))
    base, hues = hued(2, (0.2, 0.2))
    painting = base + hues
    moved = in_colours_of(grey + noise, painting) - in_colours_of(grey, painting)
    assert moved.std() < 0.2 * hues.std()


def test_an_image_gets_the_moments_of_a_painting():
    generator = torch.Generator().manual_seed(3)
    mixed = torch.tensor([[1.0, 0.4, 0.1], [0.2, 0.8, 0.0], [0.0, 0.3, 0.6]])
    image = 0.5 + 0.08 * torch.randn(3, 30, 40, generator=generator)
    painting = 0.5 + 0.1 * torch.einsum(
        "ab,bhw->ahw", mixed, torch.randn(3, 20, 50, generator=generator)
    )
    found = with_moments_of(image, painting).flatten(1)
    torch.testing.assert_close(found.mean(1), painting.flatten(1).mean(1), rtol=0, atol=1e-3)
    torch.testing.assert_close(
        torch.cov(found), torch.cov(painting.flatten(1)), rtol=0.05, atol=2e-4
    )
