"""Each class of sound is what it says, by its spectrum and its rhythm."""

import numpy as np
import pytest
from scene_measures import RATE, onsets, share

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import (
    COUNTS,
    FOREGROUNDS,
    STEADY,
    TEMPI,
    WITH_COUNT,
    foreground,
)
from triptych.demo.scenes.signals import keyed, level, loudness, noise

SECONDS = 5


def background(name, key=0):
    return BACKGROUNDS[name](keyed("test", name, key), SECONDS * RATE)


def happening(name, tempo="normal", count="twice", key=0):
    return foreground(name, keyed("test", name, key), SECONDS * RATE, tempo, count)


def any_sound(name, key=0):
    return background(name, key) if name in BACKGROUNDS else happening(name, key=key)


@pytest.mark.parametrize("name", [*BACKGROUNDS, *FOREGROUNDS])
def test_a_class_varies_with_its_key_and_with_nothing_else(name):
    first, again = any_sound(name), any_sound(name)
    assert first.shape == (SECONDS * RATE,)
    assert np.isfinite(first).all() and loudness(first) > 0
    np.testing.assert_array_equal(first, again)
    others = [any_sound(name, key) for key in (1, 2, 3)]
    assert min(abs(np.corrcoef(first, other)[0, 1]) for other in others) < 0.5


@pytest.mark.parametrize("name", STEADY)
def test_what_has_a_tempo_happens_twice_as_often_when_fast(name):
    energy = {tempo: np.sum(happening(name, tempo) ** 2) for tempo in TEMPI}
    # equal hits: their number shows in the energy, which doesn't depend on a detector of onsets
    assert energy["fast"] / energy["normal"] == pytest.approx(2, rel=0.35)
    assert energy["normal"] / energy["slow"] == pytest.approx(2, rel=0.35)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", WITH_COUNT)
def test_what_is_counted_happens_that_often(name, count):
    assert onsets(happening(name, count=count)) == COUNTS[count]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("bird", 2000, 7000),
        ("beep", 900, 1100),
        ("phone", 1100, 1900),
        ("knock", 100, 900),
        ("clock", 1800, 4500),
        ("hammer", 1000, 6500),
        ("glass", 1800, 9500),
        ("bell", 180, 2300),
        ("footsteps", 60, 2500),
        ("door", 30, 800),
        ("dog", 200, 2500),
        ("frog", 200, 2600),
        ("clapping", 300, 5000),
    ],
)
def test_foregrounds_lie_in_their_bands(name, low, high):
    assert share(happening(name), low, high) > 0.8


def test_noise_has_the_spectrum_that_was_asked_for():
    flat = noise(keyed("noise"), 10 * RATE, [(100, 0), (1000, 0), (2000, -20), (8000, -20)])
    assert np.sqrt(np.mean(flat**2)) == pytest.approx(1)
    ratio = (share(flat, 200, 900) / 700) / (share(flat, 3000, 6000) / 3000)
    assert 10 * np.log10(ratio) == pytest.approx(20, abs=1)


def test_a_level_is_that_of_the_loudest_fiftieth_of_a_second():
    signal = np.zeros(RATE)
    signal[5512 : 5512 + 4410] = 0.5  # quiet on average
    assert loudness(level(signal, 0.2)) == pytest.approx(0.2)
    assert not level(np.zeros(RATE), 0.2).any()
