"""Each class of sound is what it says, by its spectrum and its rhythm."""

import numpy as np
import pytest
from scene_measures import RATE, centroid, envelope, onsets, peaks, period, power, share

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import (
    COUNTED,
    COUNTS,
    FOREGROUNDS,
    STEADY,
    TEMPI,
    WITH_COUNT,
    foreground,
)
from triptych.demo.scenes.signals import keyed, level, loudness, noise, place, wander

SECONDS = 5


def background(name, key=0):
    return BACKGROUNDS[name](keyed("test", name, key), SECONDS * RATE)


def happening(name, tempo="normal", count="twice", key=0):
    return foreground(name, keyed("test", name, key), SECONDS * RATE, tempo, count)


def any_sound(name, key=0):
    return background(name, key) if name in BACKGROUNDS else happening(name, key=key)


def test_there_are_ten_backgrounds_and_sixteen_foregrounds():
    assert len(BACKGROUNDS) == 10
    assert len(set(FOREGROUNDS)) == 16
    assert not set(BACKGROUNDS) & set(FOREGROUNDS)


@pytest.mark.parametrize("name", [*BACKGROUNDS, *FOREGROUNDS])
def test_a_class_varies_with_its_key_and_with_nothing_else(name):
    first, again = any_sound(name), any_sound(name)
    assert first.shape == (SECONDS * RATE,)
    assert np.isfinite(first).all() and loudness(first) > 0
    np.testing.assert_array_equal(first, again)
    others = [any_sound(name, key) for key in (1, 2, 3)]
    assert min(abs(np.corrcoef(first, other)[0, 1]) for other in others) < 0.5


def test_the_siren_sweeps_slowly_between_500_and_1300_hertz():
    peak = peaks(happening("siren"))
    assert peak.min() == pytest.approx(500, abs=60)
    assert peak.max() == pytest.approx(1300, abs=60)
    assert np.abs(np.diff(peak)).max() < 150  # no jump from frame to frame


@pytest.mark.parametrize(("tempo", "interval"), [("slow", 1.0), ("normal", 0.5), ("fast", 0.25)])
def test_the_clock_ticks_at_its_tempo(tempo, interval):
    ticking = happening("clock", tempo)
    assert period(ticking, 0.15, 1.3 * interval) == pytest.approx(interval, rel=0.1)


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


@pytest.mark.parametrize("name", COUNTED)
def test_four_times_fit_into_two_seconds(name):
    samples = round(2.1 * RATE)
    sound = foreground(name, keyed("short", name), samples, "", "several")
    assert sound.size == samples
    assert onsets(sound) == 4


def test_rain_is_broadband_and_full_of_drops():
    rain = background("rain")
    assert share(rain, 2000, RATE / 2) > 0.8
    bands = [share(rain, low, low + 1000) for low in range(3000, 9000, 1000)]
    assert max(bands) < 4 * min(bands)
    # drops: far more peaks than Gaussian noise has (whose kurtosis is 3)
    assert np.mean(rain**4) / np.mean(rain**2) ** 2 > 4


def test_wind_is_low_and_comes_in_gusts():
    wind = background("wind")
    assert share(wind, 20, 1000) > 0.95
    slow = np.convolve(envelope(wind), np.ones(50) / 50, mode="valid")
    assert slow.max() > 2.5 * slow.min()


def test_waves_swell_every_two_or_three_seconds():
    assert period(background("waves"), 1.5, 4.0) == pytest.approx(2.7, abs=0.6)


def test_the_engine_has_harmonics_and_throbs():
    motor = background("engine")
    assert share(motor, 30, 1500) > 0.8
    frequencies, spectrum = power(envelope(motor) - envelope(motor).mean())
    throb = frequencies[spectrum.argmax()] * 200 / RATE  # the envelope has 200 values a second
    assert 7.5 < throb < 12.5


def test_radio_static_ends_at_five_kilohertz():
    static = background("static")
    assert share(static, 300, 5000) > 0.95
    assert share(static, 3500, 4500) > 0.05


def test_crickets_sing_between_four_and_five_kilohertz_in_pulses():
    singing = background("crickets")
    assert share(singing, 4000, 5300) > 0.9
    frequencies, spectrum = power(envelope(singing) - envelope(singing).mean())
    rates = frequencies * 200 / RATE
    assert spectrum[(rates > 24) & (rates < 32)].max() > 20 * np.median(spectrum)


def test_mains_hum_stands_on_multiples_of_its_frequency():
    frequencies, spectrum = power(background("buzz"))
    best = max(
        spectrum[np.abs(frequencies % mains - mains / 2) > mains / 2 - 3].sum()
        for mains in (100, 120)
    )
    assert best > 0.95 * spectrum.sum()


def test_a_crowd_has_the_spectrum_of_voices_and_no_steady_level():
    talking = background("crowd")
    assert share(talking, 80, 1200) > 0.8
    rms = envelope(talking, 20)
    assert rms.std() > 0.2 * rms.mean()


def test_a_stream_is_made_of_bubbles_between_400_and_3500_hertz():
    stream = background("stream")
    assert share(stream, 400, 3500) > 0.85
    assert np.mean(stream**4) / np.mean(stream**2) ** 2 > 5


def test_a_fan_is_steady_noise():
    rms = envelope(background("fan"), 4)
    assert rms.std() < 0.15 * rms.mean()


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


def test_a_telephone_alternates_between_two_tones():
    ring = happening("phone", count="once")
    loud = ring[np.abs(ring) > 0][:9000]
    frequencies, spectrum = power(loud)
    upper = spectrum[(frequencies > 1550) & (frequencies < 1850)].max()
    lower = spectrum[(frequencies > 1150) & (frequencies < 1450)].max()
    assert 0.2 < upper / lower < 5
    assert centroid(loud) > 1200


def test_noise_has_the_spectrum_that_was_asked_for():
    flat = noise(keyed("noise"), 10 * RATE, [(100, 0), (1000, 0), (2000, -20), (8000, -20)])
    assert np.sqrt(np.mean(flat**2)) == pytest.approx(1)
    ratio = (share(flat, 200, 900) / 700) / (share(flat, 3000, 6000) / 3000)
    assert 10 * np.log10(ratio) == pytest.approx(20, abs=1)


def test_grains_are_added_where_they_start_and_cut_at_the_end():
    grains = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    np.testing.assert_array_equal(place(4, np.array([0, 2]), grains), [1, 2, 13, 20])


def test_a_level_is_that_of_the_loudest_fiftieth_of_a_second():
    signal = np.zeros(RATE)
    signal[5512 : 5512 + 4410] = 0.5  # quiet on average
    assert loudness(level(signal, 0.2)) == pytest.approx(0.2)
    assert not level(np.zeros(RATE), 0.2).any()


def test_a_wandering_curve_is_smooth_and_bounded():
    curve = wander(keyed("wander"), 4 * RATE, 2.0)
    assert 0 <= curve.min() < curve.max() <= 1
    assert np.abs(np.diff(curve)).max() < 2.0 * 1.5 / RATE * 1.01  # the cubic's steepest slope
