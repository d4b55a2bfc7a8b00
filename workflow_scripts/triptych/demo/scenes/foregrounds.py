"""Sixteen sounds that happen: eight that go on at a tempo, eight that are counted.

A class gives hits, [variants, samples], whose parameters are drawn once a clip; where they fall is
decided by tempo or count. The siren alone is one unbroken sweep.
"""

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
    wander,
)

TEMPI = {"slow": 0.5, "normal": 1.0, "fast": 2.0}
COUNTS = {"once": 1, "twice": 2, "several": 4}


def bird(generator: np.random.Generator) -> np.ndarray:
    """Chirps that sweep within 2.5 to 6.5 kHz."""
    samples = round(0.11 * RATE)
    ramp = np.linspace(0, 1, samples)
    start, stop = generator.uniform(2500, 6500, (2, 3, 1))
    bend = generator.uniform(-700, 700, (3, 1)) * np.sin(np.pi * ramp)
    tones = sine(swept(start + (stop - start) * ramp + bend, samples))
    return tones * np.sin(np.pi * ramp) ** 0.7 * generator.uniform(0.6, 1, (3, 1))


def clock(generator: np.random.Generator) -> np.ndarray:
    """Tick and tock: two ringing modes of a few milliseconds."""
    low, high = generator.uniform(2100, 2500), generator.uniform(3600, 4200)
    frequencies = np.array([[low, high], [0.93 * low, 0.95 * high]])
    return struck(frequencies, np.array([[0.008, 0.005]]), np.array([[1, 0.8], [0.8, 0.6]]), 0.05)


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


def typing(generator: np.random.Generator) -> np.ndarray:
    """Keys: a bright click down and a weaker one up, each key of its own colour."""
    down = burst(generator, 6, 0.09, 0.003, [(200, -14), (1500, -4), (4000, 0), (9000, -6)])
    up = burst(generator, 6, 0.09, 0.002, [(800, -16), (3000, -2), (6000, 0), (10000, -4)])
    gap = round(0.05 * RATE)
    thud = struck(generator.uniform(220, 420, (6, 1)), np.array([[0.012]]), np.array([[0.5]]), 0.09)
    key = down + thud + 0.4 * np.pad(up, ((0, 0), (gap, 0)))[:, : down.shape[1]]
    return key * generator.uniform(0.5, 1, (6, 1))


def clapping(generator: np.random.Generator) -> np.ndarray:
    """Hands: bursts of noise around one to three kilohertz."""
    centre = generator.uniform(1100, 1700)
    curve = [(centre / 4, -26), (centre, 0), (2 * centre, -4), (8000, -24)]
    claps = burst(generator, 4, 0.12, generator.uniform(0.010, 0.016), curve)
    return claps * generator.uniform(0.7, 1, (4, 1))


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


def knock(generator: np.random.Generator) -> np.ndarray:
    """Knuckles on wood: modes of 180, 310 and 520 Hz of 20 to 30 ms, and a dull click."""
    tune = generator.uniform(0.85, 1.2)
    frequencies = tune * np.array([180.0, 310.0, 520.0]) * generator.uniform(0.98, 1.02, (2, 1))
    ringing = struck(frequencies, np.array([0.03, 0.025, 0.02]), np.array([1.0, 0.9, 0.6]), 0.15)
    return ringing + 0.6 * burst(generator, 2, 0.15, 0.003, [(100, 0), (1500, -3), (5000, -30)])


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


def beep(generator: np.random.Generator) -> np.ndarray:
    """An electronic beep: a pure tone of about 1 kHz."""
    samples = round(generator.uniform(0.14, 0.22) * RATE)
    tone = sine(swept(generator.uniform(930, 1080), samples))
    return (tone * edges(samples, 0.004, 0.006))[None]


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


SIREN_RATE = 0.6
"""Sweeps of the siren a second at normal tempo."""


def siren(generator: np.random.Generator, samples: int, tempo: str) -> np.ndarray:
    """A wail [samples] that sweeps slowly between about 500 and 1300 Hz, from its lowest on."""
    rate = SIREN_RATE * TEMPI[tempo] * generator.uniform(0.92, 1.08)
    sweep = swept(rate, samples, generator.uniform(-0.4, -0.1))
    turns = swept(generator.uniform(870, 930) + 400 * sine(sweep), samples)
    voice = sine(turns) + 0.35 * sine(2 * turns) + 0.18 * sine(3 * turns)
    return voice * (0.8 + 0.2 * wander(generator, samples, 3)) * edges(samples, 0.05, 0.05)


STEADY = {
    "bird": (bird, 3.0, 0.12),
    "clock": (clock, 2.0, 0.0),
    "footsteps": (footsteps, 1.8, 0.03),
    "hammer": (hammer, 2.0, 0.03),
    "typing": (typing, 6.0, 0.3),
    "clapping": (clapping, 3.0, 0.04),
    "frog": (frog, 1.6, 0.06),
}
"""Sounds that go on at a tempo: hits a second at normal tempo, and the standard deviation of a
hit's place, as a part of the interval."""

COUNTED = {
    "dog": (dog, 0.5),
    "bell": (bell, 0.7),
    "knock": (knock, 0.35),
    "phone": (phone, 0.6),
    "horn": (horn, 0.6),
    "beep": (beep, 0.45),
    "door": (door, 0.6),
    "glass": (glass, 0.5),
}
"""Sounds that are counted: seconds from one to the next, where there is room."""

WITH_TEMPO = (*STEADY, "siren")
WITH_COUNT = tuple(COUNTED)
FOREGROUNDS = (*WITH_TEMPO, *WITH_COUNT)


def foreground(
    name: str, generator: np.random.Generator, samples: int, tempo: str, count: str
) -> np.ndarray:
    """A foreground [samples] of one class, at any level. tempo: of TEMPI, for WITH_TEMPO; count: of
    COUNTS, for the others."""
    if name == "siren":
        return siren(generator, samples, tempo)
    if name in STEADY:
        make, rate, jitter = STEADY[name]
        hits = make(generator)
        interval = RATE / (rate * TEMPI[tempo] * generator.uniform(0.92, 1.08))
        first = generator.uniform(0.02, 0.35) * interval
        starts = np.arange(first, samples - 0.02 * RATE, interval)
        starts += interval * jitter * generator.standard_normal(starts.size)
    else:  # so close that all fit in, and the group anywhere in the room left
        make, spacing = COUNTED[name]
        hits, times = make(generator), COUNTS[count]
        body = min(hits.shape[1], round(0.42 * RATE))  # what rings longer may be cut
        closest = (samples - body) / max(times - 1, 1)
        spacing = min(spacing * generator.uniform(0.9, 1.1) * RATE, closest)
        room = max(samples - body - (times - 1) * spacing, 0)
        starts = generator.uniform(0, room) + spacing * np.arange(times)
    starts = np.clip(starts, 0, samples - 1).astype(int)
    gains = generator.uniform(0.8, 1.0, (starts.size, 1))
    return place(samples, starts, hits[np.arange(starts.size) % len(hits)] * gains)
