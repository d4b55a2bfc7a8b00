"""Ten sounds that repeat: each function gives some variants of one hit, [variants, samples]."""

from collections.abc import Callable

import numpy as np

from triptych.demo.scenes.signals import (
    RATE,
    burst,
    edges,
    filtered,
    place,
    seconds,
    sine,
    struck,
    swept,
)


def bird(generator: np.random.Generator) -> np.ndarray:
    """Chirps that sweep within 2.5 to 6.5 kHz."""
    samples = round(0.11 * RATE)
    ramp = np.linspace(0, 1, samples)
    start, stop = generator.uniform(2500, 6500, (2, 3, 1))
    bend = generator.uniform(-700, 700, (3, 1)) * np.sin(np.pi * ramp)
    tones = sine(swept(start + (stop - start) * ramp + bend, samples))
    return tones * np.sin(np.pi * ramp) ** 0.7 * generator.uniform(0.6, 1, (3, 1))


def footsteps(generator: np.random.Generator) -> np.ndarray:
    """Heel and toe: two soft bursts of noise between 150 and 2500 Hz."""
    curve = [(60, -20), (150, 0), (600, -3), (2500, -16), (6000, -45)]
    heel, toe = (burst(generator, 2, 0.16, decay, curve) for decay in (0.022, 0.012))
    gap = round(generator.uniform(0.055, 0.08) * RATE)
    return heel + 0.45 * np.pad(toe, ((0, 0), (gap, 0)))[:, : heel.shape[1]]


def hammer(generator: np.random.Generator) -> np.ndarray:
    """A hammer on a metal plate: inharmonic modes between 1.1 and 6.1 kHz after a click."""
    ratios = np.array([1.0, 1.47, 2.09, 2.56, 3.39, 4.1, 5.2])
    frequencies = generator.uniform(1050, 1250) * ratios * generator.uniform(0.99, 1.01, (2, 7))
    decays = generator.uniform(0.07, 0.12) / np.sqrt(ratios)
    ringing = struck(frequencies, decays, generator.uniform(0.4, 1, (2, 7)), 0.4)
    click = burst(generator, 2, 0.4, 0.004, [(500, -10), (3000, 0), (9000, 0)])
    return ringing / np.abs(ringing).max() + 0.8 * click


def frog(generator: np.random.Generator) -> np.ndarray:
    """Croaks: a low rising tone and its harmonics, broken into 30 to 45 pulses a second."""
    samples = round(0.26 * RATE)
    ramp = np.linspace(0, 1, samples)
    pitch = generator.uniform(260, 420) * (1 + 0.35 * ramp**2)
    turns = swept(pitch, samples)
    voice = sine(turns) + 0.8 * sine(2 * turns) + 0.6 * sine(3 * turns) + 0.3 * sine(5 * turns)
    pulses = np.clip(sine(swept(generator.uniform(30, 45), samples)), 0, 1) ** 2
    return (voice * pulses * np.sin(np.pi * ramp) ** 0.5)[None]


def dog(generator: np.random.Generator) -> np.ndarray:
    """Barks: a rough harmonic burst whose pitch falls from about 600 to 300 Hz."""
    samples = round(0.24 * RATE)
    time = seconds(samples)
    high = generator.uniform(520, 700) * generator.uniform(0.95, 1.05, (2, 1))
    pitch = high * (0.5 + 0.5 * np.exp(-time / 0.07)) * np.minimum(0.6 + time / 0.04, 1)
    rough = 1 + 0.5 * generator.standard_normal((2, samples))
    voice = np.tanh(3 * sine(swept(pitch, samples)) * rough + 0.8)  # uneven: even harmonics too
    curve = [(150, -20), (400, -5), (900, 0), (1900, -3), (3500, -14), (9000, -40)]
    return filtered(voice, curve) * np.exp(-time / 0.08) * edges(samples, 0.012, 0.06)


def bell(generator: np.random.Generator) -> np.ndarray:
    """A bell: hum, prime, tierce, quint, nominal, and one above, dying away over a second."""
    ratios = np.array([0.5, 1.0, 1.19, 1.5, 2.0, 2.7])
    frequencies = generator.uniform(420, 800) * ratios
    decays = generator.uniform(0.45, 0.7) * np.array([1.6, 1.0, 0.8, 0.6, 0.5, 0.35])
    gains = np.array([0.5, 1.0, 0.8, 0.4, 0.8, 0.5]) * generator.uniform(0.8, 1.2, 6)
    return struck(frequencies[None], decays, gains, 1.6)


def phone(generator: np.random.Generator) -> np.ndarray:
    """A telephone: two tones of 1300 and 1700 Hz that alternate twenty times a second."""
    samples = round(0.36 * RATE)
    tune = generator.uniform(0.92, 1.08)
    gate = np.clip(8 * sine(swept(generator.uniform(18, 22), samples)), -1, 1)
    first, second = (sine(swept(tune * pitch, samples)) for pitch in (1300.0, 1700.0))
    ring = first * (0.5 + 0.5 * gate) + second * (0.5 - 0.5 * gate)
    overtone = 0.25 * sine(swept(3 * tune * 1300.0, samples))
    return ((ring + overtone) * edges(samples, 0.01, 0.04))[None]


def horn(generator: np.random.Generator) -> np.ndarray:
    """A car's horn: two reeds of about 410 and 510 Hz, rich in harmonics."""
    samples = round(generator.uniform(0.3, 0.42) * RATE)
    tune = generator.uniform(0.9, 1.1)
    reeds = sum(np.tanh(2.5 * sine(swept(tune * pitch, samples))) for pitch in (410.0, 510.0))
    curve = [(200, -6), (500, 0), (2500, -3), (5000, -18), (9000, -40)]
    return (filtered(np.asarray(reeds), curve) * edges(samples, 0.02, 0.04))[None]


def door(generator: np.random.Generator) -> np.ndarray:
    """A door that slams: a low thump, a crack of noise, and a short rattle."""
    frequencies = generator.uniform(0.85, 1.2) * np.array([[62.0, 95.0, 148.0]])
    thump = struck(frequencies, np.array([0.11, 0.08, 0.05]), np.array([1.0, 0.9, 0.6]), 0.4)
    crack = burst(generator, 1, 0.4, 0.035, [(50, 0), (300, 0), (2000, -8), (8000, -24)])
    room = burst(generator, 1, 0.4, 0.12, [(80, 0), (500, -4), (2500, -20), (8000, -40)])
    rattle = np.roll(burst(generator, 1, 0.4, 0.01, [(800, -6), (2500, 0), (6000, -12)]), 2400, 1)
    return thump + 1.2 * crack + 0.4 * room + 0.15 * rattle


def glass(generator: np.random.Generator) -> np.ndarray:
    """Glasses that touch: high thin modes between 2 and 9 kHz."""
    ratios = np.array([1.0, 1.58, 2.32, 2.83, 3.61])
    frequencies = generator.uniform(1950, 2450) * ratios
    decays = generator.uniform(0.14, 0.22) / np.sqrt(ratios)
    gains = np.array([1.0, 0.9, 0.8, 0.6, 0.5]) * generator.uniform(0.7, 1.2, 5)
    return struck(frequencies[None], decays, gains, 0.7)


FOREGROUNDS: dict[str, tuple[Callable[[np.random.Generator], np.ndarray], float]] = {
    "bird": (bird, 3.0),
    "footsteps": (footsteps, 1.8),
    "hammer": (hammer, 2.0),
    "frog": (frog, 1.6),
    "dog": (dog, 2.0),
    "bell": (bell, 1.4),
    "phone": (phone, 1.7),
    "horn": (horn, 1.7),
    "door": (door, 1.5),
    "glass": (glass, 2.2),
}
"""By class: the function, and its hits a second."""


def foreground(name: str, generator: np.random.Generator, samples: int) -> np.ndarray:
    """A sound [samples] of one class, at any level."""
    make, rate = FOREGROUNDS[name]
    hits = make(generator)
    interval = RATE / (rate * generator.uniform(0.7, 1.4))
    starts = np.arange(generator.uniform(0.02, 0.35) * interval, samples - 0.02 * RATE, interval)
    starts += 0.05 * interval * generator.standard_normal(starts.size)
    starts = np.clip(starts, 0, samples - 1).astype(int)
    gains = generator.uniform(0.8, 1.0, (starts.size, 1))
    return place(samples, starts, hits[np.arange(starts.size) % len(hits)] * gains)
