"""Six continuous sounds: functions of (generator, samples) to [samples], at any level."""

from collections.abc import Callable

import numpy as np

from triptych.demo.scenes.signals import RATE, noise, place, seconds, sine, swept, wander

Background = Callable[[np.random.Generator, int], np.ndarray]


def rain(generator: np.random.Generator, samples: int) -> np.ndarray:
    """A broad hiss above 2 kHz, and single drops that hit something near."""
    hiss = noise(generator, samples, [(100, -32), (1000, -14), (3000, 0), (8000, 0), (11000, -5)])
    count = round(samples / RATE * generator.uniform(50, 110))
    length = round(0.012 * RATE)
    pitch = generator.uniform(1200, 5500, (count, 1))
    fall = np.exp(-seconds(length) / generator.uniform(0.001, 0.003, (count, 1)))
    drops = sine(pitch * seconds(length)) * fall * generator.exponential(2.2, (count, 1))
    starts = generator.integers(0, samples, count)
    return hiss * (0.85 + 0.3 * wander(generator, samples, 1.0)) + place(samples, starts, drops)


def wind(generator: np.random.Generator, samples: int) -> np.ndarray:
    """Low noise in gusts, with a howl that rises and falls with them."""
    gust = wander(generator, samples, generator.uniform(0.6, 1.1)) ** 1.5
    roar = noise(generator, samples, [(30, -12), (120, 0), (500, -6), (1500, -26), (5000, -50)])
    centre = generator.uniform(380, 560)
    flutter = noise(generator, samples, [(3, 0), (14, 0), (40, -60)])
    howl = sine(swept(centre * (0.8 + 0.6 * gust) + 12 * flutter, samples))
    return roar * (0.12 + gust) + 0.3 * gust**2 * howl


def waves(generator: np.random.Generator, samples: int) -> np.ndarray:
    """Swells every few seconds: a low roar that breaks into a bright wash and runs out."""
    period = generator.uniform(2.2, 3.2)
    turn = (seconds(samples) / period + generator.uniform()) % 1
    roar = np.exp(-(((turn - 0.35) / 0.17) ** 2))
    wash = np.where(turn < 0.4, np.exp(-(((turn - 0.4) / 0.08) ** 2)), np.exp(-(turn - 0.4) / 0.16))
    low = noise(generator, samples, [(40, -8), (150, 0), (600, -3), (1500, -20), (6000, -50)])
    high = noise(generator, samples, [(300, -24), (1000, -6), (3000, 0), (7000, -6), (11000, -14)])
    return 0.12 * high + (0.08 + roar) * low + 0.8 * wash * high


def engine(generator: np.random.Generator, samples: int) -> np.ndarray:
    """Harmonics of the firing rate that throb, over a rumble and a clatter."""
    rate = generator.uniform(45, 85) * (0.97 + 0.06 * wander(generator, samples, 1.5))
    turns = swept(rate, samples, generator.uniform())
    harmonics = np.arange(1, 19)
    gains = harmonics**-0.7 * generator.uniform(0.4, 1.0, harmonics.size)
    # exp(i k x) by one complex power a harmonic costs a fourth of eighteen sines
    base = np.exp(2j * np.pi * turns)
    power, tone = np.ones_like(base), np.zeros(samples)
    for gain in gains:
        power *= base
        tone += gain * power.imag
    throb = 1 + 0.6 * sine(swept(generator.uniform(8, 12), samples))
    clatter = noise(generator, samples, [(20, -6), (60, 0), (300, -6), (1500, -14), (6000, -26)])
    return np.tanh(0.5 * tone * throb) + 0.1 * clatter * (0.4 + 0.6 * throb)


def crickets(generator: np.random.Generator, samples: int) -> np.ndarray:
    """Insects: tones of 4 to 5 kHz in 28 pulses a second, which come in two chirps a second."""
    total = np.zeros(samples)
    for gain in (1.0, 0.5, 0.3):
        tone = sine(swept(generator.uniform(4100, 5100), samples))
        pulses = np.clip(sine(swept(generator.uniform(25, 31), samples, generator.uniform())), 0, 1)
        chirp = swept(generator.uniform(1.7, 2.4), samples, generator.uniform()) % 1
        pulses = gain * tone * pulses
        total += pulses * np.clip((0.55 - chirp) * 20, 0, 1) * np.clip(chirp * 20, 0, 1)
    return total + 0.02 * noise(generator, samples, [(500, -10), (3000, 0), (9000, -3)])


def stream(generator: np.random.Generator, samples: int) -> np.ndarray:
    """Running water: many bubbles, each a short tone that rises, over a soft rush."""
    count = round(samples / RATE * generator.uniform(60, 100))
    length = round(0.06 * RATE)
    time = seconds(length)
    low = np.exp(generator.uniform(np.log(450), np.log(2200), (count, 1)))
    rise = low * (1 + generator.uniform(2, 8, (count, 1)) * time)
    fall = np.exp(-time / generator.uniform(0.006, 0.02, (count, 1))) * np.minimum(time / 0.002, 1)
    gains = generator.exponential(1.0, (count, 1))
    bubbles = sine(np.cumsum(rise, axis=1) / RATE) * fall * gains
    rush = noise(generator, samples, [(100, -30), (400, -10), (1200, 0), (3500, -6), (9000, -18)])
    flow = 0.12 + 0.08 * wander(generator, samples, 3)
    return place(samples, generator.integers(0, samples, count), bubbles) + flow * rush


BACKGROUNDS: dict[str, Background] = {
    "rain": rain,
    "wind": wind,
    "waves": waves,
    "engine": engine,
    "crickets": crickets,
    "stream": stream,
}
