"""Steadied videos, against the filter's closed form, known motion, and cuts."""

import numpy as np
import pytest

from triptych.apps.pictures.network_stylizer import Steadied
from triptych.style.video.flicker import Flicker

SHARE = 0.6


def textured(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Smooth random colours, float [height, width, 3] of 40 to 200."""
    import cv2

    random = np.random.default_rng(seed)
    picture = cv2.GaussianBlur(random.normal(size=(height, width, 3)), (0, 0), 3)
    picture = (picture - picture.min()) / np.ptp(picture)
    return 40 + 160 * picture


@pytest.fixture
def pan() -> np.ndarray:
    """Twelve frames of a camera that moves by two pixels right and one down."""
    picture = textured(120, 160).round().astype(np.uint8)
    return np.stack([picture[n : n + 96, 2 * n : 2 * n + 128] for n in range(12)])


def uneven(frames: np.ndarray) -> np.ndarray:
    """Every other frame 20 levels brighter: what no film does."""
    lighter = np.arange(len(frames))[:, None, None, None] % 2 * 20
    return (frames.astype(int) + lighter).clip(0, 255).astype(np.uint8)


def test_of_a_film_that_stands_still_it_is_the_recursive_mean():
    still = np.repeat(textured(64, 80).round().astype(np.uint8)[None], 9, 0)
    found = Steadied(uneven, SHARE)(still).astype(float)
    expected = uneven(still).astype(float)
    for number in range(1, len(expected)):
        expected[number] = SHARE * expected[number - 1] + (1 - SHARE) * expected[number]
    inner = slice(8, -8)  # where the flow is trusted
    difference = np.abs(found - expected)[:, inner, inner]
    assert np.median(difference) <= 0.5
    assert np.mean(difference < 1.1) > 0.99


def test_a_moving_film_flickers_less_and_stays_what_it_is(pan):
    def ratio(results: np.ndarray) -> float:
        flicker = Flicker()
        for frame, result in zip(pan, results, strict=True):
            flicker.add(frame, result)
        return flicker.table()["stylised_error"].mean()

    assert ratio(Steadied(uneven, SHARE)(pan)) < 0.45 * ratio(uneven(pan))
    same = Steadied(lambda frames: frames, SHARE)(pan).astype(float) - pan
    assert np.sqrt(np.mean(same[:, 8:-8, 8:-8] ** 2)) < 2


def test_nothing_is_kept_over_a_cut(pan):
    film = np.concatenate([pan[:3], 255 - textured(96, 128, 7).round().astype(np.uint8)[None]])
    assert np.array_equal(Steadied(lambda frames: frames, SHARE)(film)[-1], film[-1])
