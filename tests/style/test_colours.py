"""A painting in a photograph's colours, against NumPy's moments."""

import numpy as np
import torch

from triptych.style.data.colours import matched

GENERATOR = torch.Generator().manual_seed(0)
MIX = torch.tensor([[0.2, 0.1, 0.0], [0.0, 0.3, 0.1], [0.1, 0.0, 0.2]])


def image(height: int, width: int, mix: torch.Tensor) -> torch.Tensor:
    values = torch.rand(3, height * width, generator=GENERATOR) - 0.5
    return (mix @ values + 0.5).view(3, height, width)


def moments(image: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    flat = image.reshape(3, -1).double().numpy()
    return flat.mean(1), np.cov(flat, bias=True)


def test_mean_and_covariance_become_the_photographs():
    painting, photograph = image(20, 30, MIX), image(25, 10, 0.7 * MIX.T) - 0.1
    found = matched(painting, photograph)
    assert found.shape == painting.shape and found.dtype == painting.dtype
    assert found.min() > 0 and found.max() < 1  # nothing was clamped
    for one, other, before in zip(
        moments(found), moments(photograph), moments(painting), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)
        assert np.abs(before - other).max() > 0.003


def test_a_painting_without_colours_takes_the_mean_and_stays_finite():
    grey = torch.rand(1, 8, 9, generator=GENERATOR).expand(3, 8, 9)
    even = torch.full((3, 8, 9), 0.3)
    photograph = image(25, 10, MIX)
    for painting in (grey, even):
        found = matched(painting, photograph)
        assert found.isfinite().all() and found.min() >= 0 and found.max() <= 1
    torch.testing.assert_close(
        matched(even, photograph).mean((1, 2)), photograph.mean((1, 2)), rtol=0, atol=1e-5
    )
