"""Insects and frogs: wings, stridulation and trains of pulses."""

import numpy as np

from triptych.demo.everyday.toolkit import (
    Draw,
    Sound,
    bandpass,
    curve,
    hump,
    noise,
    put,
    samples,
    sine,
    tone,
    wander,
)


def crickets(draw: Draw) -> Sound:
    """Tones of 2.5 to 7 kHz in trains of pulses, several animals at a time."""
    out, base = np.zeros(draw.n), draw.scale(2500, 6500)
    for _ in range(draw.count(1, 4)):
        f0, rate = base * draw.between(0.93, 1.07), draw.scale(22, 70)
        chirp = draw.scale(0.6, 5) if draw.chance(0.75) else 0.0
        time = np.arange(draw.n) / 32000 + draw.between(0, 1)
        gate = np.clip(np.sin(2 * np.pi * rate * time), 0, 1)
        if chirp:
            gate = gate * ((time * chirp % 1) < draw.between(0.25, 0.7))
        out += tone(f0, draw.n, [1, 0.08]) * gate * draw.scale(0.15, 1)
    return out + draw.scale(0.003, 0.08) * noise(draw, draw.n, 200, 10000, -2)


def cicadas(draw: Draw) -> Sound:
    """Broad bands of 4 to 12 kHz, finely and slowly modulated."""
    low = draw.scale(2800, 8000)
    made = bandpass(noise(draw, draw.n), low, low * draw.between(1.2, 1.8), 3)
    made *= (0.5 + 0.5 * sine(draw.scale(40, 300), draw.n)) ** draw.between(0.5, 2)
    swell = 0.6 + 0.4 * sine(draw.scale(0.2, 6), draw.n)
    return made * swell


def buzzing_insect(draw: Draw) -> Sound:
    """Wing beats of 100 to 700 Hz that waver as the insect turns."""
    out = np.zeros(draw.n)
    base = draw.scale(110, 650)
    for _ in range(draw.pick(1, 1, 2, 6)):
        f0 = (
            base * draw.between(0.85, 1.15) * wander(draw, draw.n, draw.between(1.5, 6), 0.85, 1.15)
        )
        near = wander(draw, draw.n, draw.between(0.6, 2.5)) ** draw.between(1, 3)
        gains = draw.spread(0.2, 1, 30) / np.arange(1, 31) ** draw.between(0.4, 1.3)
        out += tone(f0, draw.n, gains) * near * wander(draw, draw.n, 20, 0.7, 1)
    return out


def frogs(draw: Draw) -> Sound:
    """Trains of pulses with one or two resonances, alone or in chorus."""
    out = np.zeros(draw.n)
    for _ in range(draw.pick(1, 1, 2, 6)):
        base, rate, length = draw.scale(200, 3200), draw.scale(12, 140), draw.scale(0.06, 0.8)
        near, gap = draw.scale(0.2, 1), draw.scale(0.15, 1.6)
        at = draw.between(-0.3, 1)
        while at < draw.n / 32000:
            n = samples(length * draw.between(0.9, 1.1))
            beat = np.clip(sine(rate, n), 0, 1) ** 2
            f0 = base * curve(n, 0.95, 1, 1.05)
            made = (tone(f0, n, [1, 0.5, 0.25, 0.1]) + 0.2 * noise(draw, n, base, 3 * base)) * beat
            put(out, at, made * hump(n, 0.5), near)
            at += length + gap * draw.between(0.85, 1.15)
    return out
