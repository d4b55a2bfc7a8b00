"""Each sound varies with its key alone; scenes have their sounds in their order."""

import numpy as np
import pytest

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import FOREGROUNDS, foreground
from triptych.demo.scenes.mixing import PEAK, Scene, render
from triptych.demo.scenes.signals import RATE, keyed, loudness

SAMPLES = 5 * RATE


def sound(name, key=0):
    generator = keyed("test", name, key)
    make = BACKGROUNDS.get(name)
    return make(generator, SAMPLES) if make else foreground(name, generator, SAMPLES)


def centroid(signal):
    """Mean frequency, weighted with power, in hertz."""
    power = np.abs(np.fft.rfft(signal * np.hanning(signal.size))) ** 2
    frequencies = np.fft.rfftfreq(signal.size, 1 / RATE)
    return float((frequencies * power).sum() / power.sum())


@pytest.mark.parametrize("name", [*BACKGROUNDS, *FOREGROUNDS])
def test_a_class_varies_with_its_key_and_with_nothing_else(name):
    first = sound(name)
    assert first.shape == (SAMPLES,)
    assert np.isfinite(first).all() and loudness(first) > 0
    np.testing.assert_array_equal(first, sound(name))
    others = [sound(name, key) for key in (1, 2, 3)]
    assert min(abs(np.corrcoef(first, other)[0, 1]) for other in others) < 0.5


@pytest.mark.parametrize(("high", "low"), [("bird", "door"), ("glass", "horn")])
def test_scenes_of_two_sounds_in_turn_have_them_in_their_order(high, low):
    for scene, sign in ((Scene("then", high, low), 1), (Scene("then", low, high), -1)):
        first, second = map(centroid, np.array_split(render(scene, 5.0, "order"), 2))
        assert sign * np.log(first / second) > np.log(1.5)


def test_nothing_is_beyond_full_scale_and_lengths_are_kept():
    for number, length in enumerate((1.0, 3.3, 6.0)):
        clip = render(Scene("while", "engine", "hammer"), length, number)
        assert (clip.dtype, clip.size) == (np.float32, round(length * RATE))
        assert np.abs(clip).max() <= PEAK + 1e-6
