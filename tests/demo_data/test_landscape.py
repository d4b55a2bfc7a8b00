"""A landscape is the same at every size, and finer where there are more pixels."""

import cv2
import numpy as np

from triptych.demo.landscape import landscape


def _detail(picture: np.ndarray) -> float:
    """What a reduction to half the size and back loses."""
    height, width = picture.shape[:2]
    half = cv2.resize(picture, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    back = cv2.resize(half, (width, height), interpolation=cv2.INTER_CUBIC)
    return float(np.abs(picture.astype(float) - back).mean())


def test_a_larger_landscape_shows_the_same_and_is_no_enlargement() -> None:
    small, large = landscape((96, 144), 3), landscape((384, 576), 3)
    assert (small.shape, large.shape, large.dtype) == ((96, 144, 3), (384, 576, 3), np.uint8)
    reduced = cv2.resize(large, (144, 96), interpolation=cv2.INTER_AREA)
    alike = np.corrcoef(reduced.ravel(), small.ravel())[0, 1]
    other = np.corrcoef(landscape((96, 144), 4).ravel(), small.ravel())[0, 1]
    assert alike > 0.95 > other + 0.1
    enlarged = cv2.resize(small, (576, 384), interpolation=cv2.INTER_CUBIC)
    assert _detail(large) > 1.5 * _detail(enlarged)


def test_a_seed_is_a_landscape() -> None:
    assert np.array_equal(landscape((64, 96), 1), landscape((64, 96), 1))
