"""Kinds of everyday sound are what they say, by their spectrum, their rhythm and their level."""

import numpy as np
import pytest

from triptych.demo.everyday.catalogue import KINDS
from triptych.demo.everyday.pool import PoolSettings, sound
from triptych.demo.everyday.recording import LOUDNESS, recorded, room
from triptych.demo.everyday.toolkit import RATE, Draw, noise, tone, voiced
from triptych.demo.everyday.wording import FAMILIES

SECONDS = 3
SOUNDS = PoolSettings(each=2, held_out=1, seconds=2.0, seed=0)


def draw(seed=0, seconds=SECONDS):
    return Draw(np.random.default_rng(seed), seconds * RATE)


def make(name, seed=0):
    return KINDS[name].make(draw(seed))


def share(signal, low, high):
    """The part of a signal's power between two frequencies."""
    power = np.abs(np.fft.rfft(signal)) ** 2
    hertz = np.fft.rfftfreq(signal.size, 1 / RATE)
    return power[(hertz >= low) & (hertz < high)].sum() / power.sum()


def envelope(signal, hertz):
    frame = RATE // hertz
    return np.sqrt((signal[: signal.size // frame * frame].reshape(-1, frame) ** 2).mean(1))


def crest(signal):
    """How much louder the loudest 10 ms are than the mean: high for hits, 1 to 2 for textures."""
    rms = envelope(signal, 100)
    return rms.max() / np.sqrt((rms**2).mean())


def typical(measure, name, count=5):
    """The median over several sounds of a kind."""
    return float(np.median([measure(make(name, seed)) for seed in range(count)]))


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_makes_a_sound_of_the_length_asked_for(name):
    made = make(name)
    assert made.shape == (SECONDS * RATE,)
    assert np.isfinite(made).all()
    assert np.abs(made).max() > 0


@pytest.mark.parametrize("name", [*KINDS][::9])
def test_a_sound_is_a_function_of_its_kind_number_and_seed(name):
    first, again = sound(name, 0, SOUNDS), sound(name, 0, SOUNDS)
    np.testing.assert_array_equal(first, again)
    more = PoolSettings(each=9, held_out=1, seconds=2.0, seed=0)
    np.testing.assert_array_equal(first, sound(name, 0, more))
    for other in (sound(name, 1, SOUNDS), sound(name, 0, PoolSettings(2, 1, 2.0, seed=1))):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.5


@pytest.mark.parametrize("name", [*KINDS][::7])
def test_a_recording_is_at_its_level(name):
    made = sound(name, 0, SOUNDS)
    frames = made[: made.size // 1600 * 1600].reshape(-1, 1600)
    assert np.sqrt((frames**2).mean(1)).max() == pytest.approx(LOUDNESS, rel=0.02)


def test_noise_lies_in_its_band_and_falls_at_its_slope():
    band = noise(draw(), SECONDS * RATE, 1000, 4000, order=8)
    assert np.sqrt((band**2).mean()) == pytest.approx(1, rel=1e-3)
    assert share(band, 900, 4500) > 0.97
    fallen = noise(draw(), SECONDS * RATE, slope=-6.02)
    octaves = [share(fallen, low, 2 * low) / low for low in (500, 1000, 2000)]
    assert octaves[0] / octaves[1] == pytest.approx(4, rel=0.1)  # 6 dB an octave of density
    assert octaves[1] / octaves[2] == pytest.approx(4, rel=0.1)


def test_harmonics_equal_their_sines():
    gains, time = [1, 0.5, 0, 0.25], np.arange(1, RATE + 1) / RATE
    found = tone(220.0, RATE, gains)
    wanted = sum(g * np.sin(2 * np.pi * 220 * k * time) for k, g in enumerate(gains, 1))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_voice_is_loudest_where_its_formants_are():
    flat = np.full(RATE, 100.0)
    made = voiced(flat, [(700, 100, 1.0), (2500, 150, 1.0)], tilt=0)
    power = np.abs(np.fft.rfft(made)) ** 2
    for hertz in (700, 2500):
        assert power[hertz] > 20 * max(power[hertz - 500], power[hertz + 500])
    assert share(made, 12_500, 16_000) < 1e-6


def test_a_room_rings_on_after_the_sound():
    dry = np.zeros(2 * RATE)
    dry[100] = 1.0
    wet = room(draw(3, 2), dry)
    assert wet[100] == pytest.approx(1.0)
    assert (wet[200:4000] ** 2).sum() > 1e-3
    assert (wet[200:8000] ** 2).sum() > (wet[8000:16000] ** 2).sum()
    assert np.abs(wet[:100]).max() < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_a_recorder_keeps_length_and_silence(seed):
    assert not recorded(draw(seed, 1), np.zeros(RATE)).any()


@pytest.mark.parametrize("name", ["knocking", "door_slam", "glass_clink", "clicks"])
def test_hits_and_calls_stand_out_of_silence(name):
    assert typical(crest, name) > 3


@pytest.mark.parametrize("name", ["rain", "waterfall", "fan", "vacuum", "static", "electric_hum"])
def test_textures_go_on(name):
    assert typical(crest, name) < 2


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("crickets", 2000, 16000),
        ("songbirds", 1000, 16000),
        ("glass_clink", 1000, 16000),
        ("jingling", 1500, 16000),
        ("frying", 1500, 16000),
        ("thunder", 0, 2500),
        ("explosion", 0, 2500),
        ("wind", 0, 2500),
        ("cow", 60, 2000),
        ("purring", 0, 2500),
        ("whistling", 500, 4500),
        ("electric_hum", 40, 8000),
        ("air_horn", 60, 8000),
    ],
)
def test_most_of_a_kinds_power_is_where_it_belongs(name, low, high):
    assert typical(lambda signal: share(signal, low, high), name) > 0.8


def rate_of(name, low, high, seed):
    """The rate in hertz, within bounds, at which a sound's envelope repeats best."""
    rms = envelope(make(name, seed), 400)
    rms = rms - rms.mean()
    lags = np.arange(round(400 / high), round(400 / low) + 1)
    values = [np.corrcoef(rms[lag:], rms[:-lag])[0, 1] for lag in lags]
    return 400 / lags[int(np.argmax(values))], max(values)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("clock_ticking", 0.9, 11), ("helicopter", 8, 30), ("purring", 15, 40)],
)
def test_what_has_a_beat_keeps_it(name, low, high):
    strengths = [rate_of(name, low, high, seed)[1] for seed in range(5)]
    assert np.median(strengths) > 0.3


def test_sirens_change_their_pitch_and_beeps_keep_it():
    def spread(signal):
        frames = signal[: signal.size // 2048 * 2048].reshape(-1, 2048)
        loud = frames[(frames**2).mean(1) > 0.2 * (frames**2).mean(1).max()]
        peaks = np.abs(np.fft.rfft(loud * np.hanning(2048))).argmax(1)
        return peaks.std() / peaks.mean()

    assert typical(spread, "siren") > 0.1 > typical(spread, "beeps")


def test_kinds_are_named_in_many_ways_and_belong_to_a_family():
    assert len(KINDS) >= 150
    for each in KINDS.values():
        assert each.family in FAMILIES
        assert 4 <= len(each.phrases) == len(set(each.phrases))
        for phrase in each.phrases:
            assert phrase == phrase.lower().strip() and len(phrase.split()) <= 9
