"""Each sound is what it says by spectrum and rhythm; a scene lets one hear distance and order."""

import numpy as np
import pytest

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import (
    COUNTS,
    FOREGROUNDS,
    STEADY,
    TEMPI,
    WITH_COUNT,
    foreground,
)
from triptych.demo.scenes.mixing import PEAK, Scene, render
from triptych.demo.scenes.signals import RATE, keyed, loudness

SECONDS = 5


def happening(name, tempo="normal", count="twice", key=0):
    return foreground(name, keyed("test", name, key), SECONDS * RATE, tempo, count)


def any_sound(name, key=0):
    if name in BACKGROUNDS:
        return BACKGROUNDS[name](keyed("test", name, key), SECONDS * RATE)
    return happening(name, key=key)


def power(signal):
    """(frequencies, power) of a whole signal."""
    spectrum = np.abs(np.fft.rfft(signal * np.hanning(signal.size))) ** 2
    return np.fft.rfftfreq(signal.size, 1 / RATE), spectrum


def centroid(signal):
    """Mean frequency, weighted with power, in hertz."""
    frequencies, spectrum = power(signal)
    return float((frequencies * spectrum).sum() / spectrum.sum())


def share(signal, low, high):
    """The part of a signal's power between two frequencies."""
    frequencies, spectrum = power(signal)
    return float(spectrum[(frequencies >= low) & (frequencies < high)].sum() / spectrum.sum())


def envelope(signal, hertz):
    """Root mean square of each 1/hertz second."""
    frame = RATE // hertz
    return np.sqrt((signal[: signal.size // frame * frame].reshape(-1, frame) ** 2).mean(axis=1))


def onsets(signal):
    """How many times the sound sets in: the envelope more than doubles and stands out."""
    rms = envelope(signal, 50)
    rising = (rms > 2 * np.concatenate([[0], rms[:-1]])) & (rms > 0.08 * rms.max())
    starts = np.flatnonzero(rising)
    return 1 + int((np.diff(starts) > 5).sum()) if starts.size else 0


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


@pytest.mark.parametrize("name", WITH_COUNT)
def test_what_is_counted_happens_that_often(name):
    for count, times in COUNTS.items():
        assert onsets(happening(name, count=count)) == times


def alone(name, distance="near", tempo="normal", count="twice"):
    return Scene("single", name, "", tempo, distance, count)


@pytest.mark.parametrize(("high", "low"), [("bird", "door"), ("glass", "horn"), ("clock", "knock")])
def test_swapped_scenes_have_their_sounds_in_swapped_order(high, low):
    scene = Scene("then", high, low, "normal", "near", "several")
    for each, sign in ((scene, 1), (scene.swapped(), -1)):
        first, second = map(centroid, np.array_split(render(each, 5.0, "order"), 2))
        assert sign * np.log(first / second) > np.log(1.5)


def test_nothing_is_beyond_full_scale_and_lengths_are_kept():
    for number, length in enumerate((1.0, 3.3, 6.0)):
        clip = render(alone("hammer", tempo="fast"), length, number)
        assert (clip.dtype, clip.size) == (np.float32, round(length * RATE))
        assert np.abs(clip).max() <= PEAK + 1e-6
