"""Kinds of everyday sound: each makes one, from its number and a seed, where its power belongs."""

import numpy as np
import pytest

from makers.sounds.catalogue import KINDS
from makers.sounds.pool import LOUDNESS, PoolSettings, sound
from makers.sounds.toolkit import RATE, Draw

SOUNDS = PoolSettings(each=2, held_out=1, seconds=1.0, seed=0)


def draw(seed=0, seconds=3):
    return Draw(np.random.default_rng(seed), seconds * RATE)


def share(signal, low, high):
    """The part of a signal's power between two frequencies."""
    power = np.abs(np.fft.rfft(signal)) ** 2
    hertz = np.fft.rfftfreq(signal.size, 1 / RATE)
    return power[(hertz >= low) & (hertz < high)].sum() / power.sum()


@pytest.mark.parametrize("name", [*KINDS][::50])
def test_a_sound_is_a_function_of_its_kind_number_and_seed_at_its_level(name):
    first = sound(name, 0, SOUNDS)
    np.testing.assert_array_equal(first, sound(name, 0, PoolSettings(9, 1, 1.0, seed=0)))
    for other in (sound(name, 1, SOUNDS), sound(name, 0, PoolSettings(2, 1, 1.0, seed=1))):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.5
    frames = first[: first.size // 1600 * 1600].reshape(-1, 1600)
    assert np.sqrt((frames**2).mean(1)).max() == pytest.approx(LOUDNESS, rel=0.02)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("crickets", 2000, 16000), ("thunder", 0, 2500), ("whistling", 500, 4500)],
)
def test_most_of_a_kinds_power_is_where_it_belongs(name, low, high):
    shares = [share(KINDS[name].make(draw(seed)), low, high) for seed in range(5)]
    assert np.median(shares) > 0.8
