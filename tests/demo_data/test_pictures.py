"""Pictures by chance: every kind is a picture, and none is like another."""

import numpy as np
import pytest

from triptych.demo import pictures
from triptych.demo.pictures import KINDS, picture


def test_a_key_is_a_picture_and_another_key_another() -> None:
    first = picture(48, 3, 5)
    assert (first.shape, first.dtype) == ((48, 48, 3), np.uint8)
    np.testing.assert_array_equal(picture(48, 3, 5), first)
    assert np.abs(picture(48, 3, 6).astype(int) - first).mean() > 5


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_shapes_and_light(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(pictures, "KINDS", {kind: KINDS[kind]})
    drawn = np.stack([picture(64, 0, number) for number in range(12)]).astype(float)
    assert (drawn.std((1, 2, 3)) > 2).all()
    assert (drawn.std((1, 2, 3)) > 15).sum() >= 8
    assert 30 < drawn.mean() < 220
    assert np.ptp(drawn.mean((1, 2)), axis=-1).max() > 15, "all of them are grey"


def test_noise_falls_with_the_frequency_as_it_is_told() -> None:
    """The slope of the mean power over rings of frequency, in logarithms."""
    field = pictures._noise((256, 256), np.random.default_rng(0), 1.5)
    power = np.abs(np.fft.fft2(field)) ** 2
    radius = np.hypot(np.fft.fftfreq(256)[:, None], np.fft.fftfreq(256)[None])
    rings = [(low, (radius >= low) & (radius < 1.4 * low)) for low in (0.02, 0.05, 0.1, 0.2)]
    means = np.log([power[inside].mean() for _, inside in rings])
    slope = np.polyfit(np.log([low for low, _ in rings]), means, 1)[0]
    assert slope == pytest.approx(-3, abs=0.15)
