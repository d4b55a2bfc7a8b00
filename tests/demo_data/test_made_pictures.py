"""Pictures by chance, the film and the landscape: each a function of its key."""

from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from triptych.demo.film import Film, write_film
from triptych.demo.landscape import landscape
from triptych.demo.pictures import picture
from triptych.style.video.info import probe

SMALL = Film(width=96, height=54, frames=13, frames_per_second=12)


def test_a_film_is_what_was_ordered_and_always_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        write_film(tmp_path / name, SMALL)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    info = probe(tmp_path / "a.mp4")
    assert (info.width, info.height, info.frames, info.fps) == (96, 54, 13, 12)
    assert info.duration == Fraction(13, 12)
    assert info.sound is not None and info.sound[0] == "aac"
    assert info.sound[1] == pytest.approx(13 / 12, abs=0.05)


def detail(image: np.ndarray) -> float:
    """What a reduction to half the size and back loses."""
    height, width = image.shape[:2]
    half = cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    back = cv2.resize(half, (width, height), interpolation=cv2.INTER_CUBIC)
    return float(np.abs(image.astype(float) - back).mean())


def test_a_larger_landscape_shows_the_same_and_is_no_enlargement() -> None:
    small, large = landscape((96, 144), 3), landscape((384, 576), 3)
    assert (small.shape, large.shape, large.dtype) == ((96, 144, 3), (384, 576, 3), np.uint8)
    assert np.array_equal(landscape((96, 144), 3), small)
    reduced = cv2.resize(large, (144, 96), interpolation=cv2.INTER_AREA)
    alike = np.corrcoef(reduced.ravel(), small.ravel())[0, 1]
    other = np.corrcoef(landscape((96, 144), 4).ravel(), small.ravel())[0, 1]
    assert alike > 0.95 > other + 0.1
    assert detail(large) > 1.5 * detail(cv2.resize(small, (576, 384)))


def test_a_key_is_a_picture_and_another_key_another() -> None:
    first = picture(48, 3, 5)
    assert (first.shape, first.dtype) == ((48, 48, 3), np.uint8)
    np.testing.assert_array_equal(picture(48, 3, 5), first)
    assert np.abs(picture(48, 3, 6).astype(int) - first).mean() > 5
