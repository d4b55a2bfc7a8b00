"""Painters: the same picture from a seed, at every size; what is shipped is what they paint."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from makers.paintings.paint import PAINTINGS, paint

SHIPPED = Path(__file__).parents[2] / "resources" / "style" / "paintings"


@pytest.mark.parametrize("name", PAINTINGS)
def test_a_seed_is_a_picture_at_every_size_whatever_the_number_of_threads(name):
    small, before = paint(name, (64, 80), seed=5), cv2.getNumThreads()
    assert small.shape == (64, 80, 3) and small.dtype == np.float32
    assert small.min() >= 0 and small.max() <= 1 and small.std() > 0.05
    cv2.setNumThreads(1 if before > 1 else 3)
    try:
        large = paint(name, (128, 160), seed=5)
    finally:
        cv2.setNumThreads(before)
    reduced = cv2.resize(large, (80, 64), interpolation=cv2.INTER_AREA)
    np.testing.assert_allclose(reduced, small, atol=1e-5)


def test_what_is_shipped_is_what_they_paint():
    assert {path.stem for path in SHIPPED.iterdir()} == set(PAINTINGS)
    painted = paint("ink", (512, 512), seed=0)
    shipped = np.asarray(Image.open(SHIPPED / "ink.png"))
    assert np.abs(255 * painted - shipped).max() <= 1
