"""Enlarging by guided detail, against what it has to give in closed form."""

import torch

from triptych.style.data.images import enlarged, resize_to


def grey(height: int, width: int) -> torch.Tensor:
    """Fine stripes of high contrast under a coarse wave, [1, 3, H, W]."""
    rows, columns = torch.arange(height)[:, None], torch.arange(width)[None]
    image = 0.5 + 0.2 * torch.sin(columns / 7.0) + 0.25 * torch.cos(rows / 1.5 + columns / 2.5)
    return image.clamp(0, 1).expand(1, 3, height, width).contiguous()


def test_an_image_that_follows_its_photograph_gets_all_of_its_detail_back():
    photograph = grey(96, 120)
    small = resize_to(photograph, 48, 60)
    weights = torch.tensor([0.9, 0.5, 0.2]).view(3, 1, 1)
    result = enlarged(small * weights + 0.05, small, photograph)
    expected = photograph * weights + 0.05
    plain = resize_to(small * weights + 0.05, 96, 120)
    assert (plain - expected).abs().max() > 0.05  # so that there is something to bring back
    torch.testing.assert_close(result, expected, rtol=0, atol=0.02)


def test_strokes_over_an_even_photograph_stay_as_they_are():
    """Where a guided filter itself would smooth them away."""
    photograph = torch.full((1, 3, 96, 120), 0.4)
    small = resize_to(photograph, 48, 60)
    strokes = torch.rand(1, 3, 48, 60, generator=torch.Generator().manual_seed(0))
    result = enlarged(strokes, small, photograph)
    torch.testing.assert_close(result, resize_to(strokes, 96, 120), rtol=0, atol=1e-5)
