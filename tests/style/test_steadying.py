"""Steadied videos: what they keep of the frame before, and what they don't."""

import cv2
import numpy as np
import pytest

from triptych.apps.pictures import STEADY
from triptych.style.video.flicker import Flicker
from triptych.style.video.steadying import Steadied


def textured(height: int, width: int, seed: int = 0, blur: float = 3) -> np.ndarray:
    """Smooth random colours, float [height, width, 3] of 40 to 200."""
    random = np.random.default_rng(seed)
    picture = cv2.GaussianBlur(random.normal(size=(height, width, 3)), (0, 0), blur)
    picture = (picture - picture.min()) / np.ptp(picture)
    return 40 + 160 * picture


def as_film(frames: list[np.ndarray]) -> np.ndarray:
    return np.stack(frames).round().clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def pan() -> np.ndarray:
    """Sixteen frames of a camera that moves by a pixel a frame."""
    picture = textured(110, 180)
    return as_film([picture[n // 2 : n // 2 + 96, n : n + 144] for n in range(16)])


@pytest.fixture(scope="module", params=[1, 4])
def pages(request) -> np.ndarray:
    """Three slides of words, so many frames each."""
    slides = []
    for words in ("First page", "Second one", "The end"):
        slide = np.full((96, 240, 3), 255, np.uint8)
        cv2.putText(slide, words, (12, 56), cv2.FONT_HERSHEY_SIMPLEX, 1.1, (0, 0, 0), 2)
        slides += [slide] * request.param
    return np.stack(slides)


def brushed(frames: np.ndarray) -> np.ndarray:
    """Frames under strokes that are other ones in each frame."""
    random = np.random.default_rng(1)
    strokes = [cv2.GaussianBlur(random.normal(0, 60, frame.shape), (0, 0), 1.0) for frame in frames]
    return as_film([frame + stroke for frame, stroke in zip(frames, strokes, strict=True)])


def steadied(frames: np.ndarray, painted: np.ndarray, share: float = STEADY) -> np.ndarray:
    return Steadied(lambda _: painted, share)(frames)


def flicker(frames: np.ndarray, results: np.ndarray) -> float:
    measure = Flicker()
    for pair in zip(frames, results, strict=True):
        measure.add(*pair)
    return measure.table()["stylised_error"].mean()


def contrast(frame: np.ndarray) -> float:
    return cv2.Laplacian(frame.astype(np.float32), cv2.CV_32F)[8:-8, 8:-8].std()


def specks(frame: np.ndarray) -> float:
    """Kurtosis of the finest detail: 3 of Gaussian noise, more of specks in smooth paint."""
    detail = cv2.Laplacian(frame.astype(np.float32), cv2.CV_32F)[8:-8, 8:-8]
    return float(np.mean((detail - detail.mean()) ** 4) / detail.var() ** 2)


def apart(results: np.ndarray, painted: np.ndarray) -> float:
    """The largest difference of any frame's broad colours, in levels."""
    differences = results.astype(np.float32) - painted
    return max(np.abs(cv2.GaussianBlur(frame, (0, 0), 3)).max() for frame in differences)


def test_a_pan_flickers_less_and_keeps_its_strokes_contrast(pan):
    painted = brushed(pan)
    results = steadied(pan, painted)
    assert flicker(pan, results) < 0.25 * flicker(pan, painted)
    assert contrast(results[-1]) > 0.9 * contrast(painted[-1])


@pytest.mark.slow
def test_after_eighty_frames_strokes_are_as_strong_and_as_smooth():
    picture = textured(120, 420)
    pan = as_film([picture[10:110, 3 * n : 3 * n + 160] for n in range(80)])
    painted = brushed(pan)
    last = steadied(pan, painted)[-1]
    assert 0.9 < contrast(last) / contrast(painted[-1]) < 1.15
    assert specks(last) < 1.4 * specks(painted[-1])


def test_whole_strokes_are_kept_as_long_as_the_film_shows_them(pan):
    painted = brushed(pan)
    assert flicker(pan, steadied(pan, painted, 1.0)) < 0.25 * flicker(pan, painted)


def test_words_of_the_slide_before_are_gone(pages):
    results = steadied(pages, pages)
    assert apart(results, pages) < 20


def test_a_fade_lags_by_nothing_that_one_sees(pan):
    fade = as_film([pan[0] * max(0, 1 - number / 12) for number in range(14)])
    assert apart(steadied(fade, fade), fade) < 6
    assert steadied(fade, fade)[-1].max() < 8


def test_nothing_is_kept_over_a_cut(pan):
    film = np.concatenate([pan[:3], 255 - as_film([textured(96, 144, 7)])])
    assert np.array_equal(steadied(film, film)[-1], film[-1])


def test_a_share_of_nothing_gives_the_frames_as_they_are_painted(pan):
    painted = brushed(pan)
    assert np.abs(steadied(pan, painted, 0).astype(int) - painted).max() <= 1


def test_frames_and_batches_that_come_one_by_one_are_the_same(pan):
    painted = list(brushed(pan))
    one_by_one = Steadied(lambda _: painted.pop(0)[None], STEADY)
    singly = [one_by_one(frame[None])[0] for frame in pan]
    assert np.array_equal(steadied(pan, brushed(pan)), singly)
