"""What rooms, distance and recorders do to a sound on its way into a file."""

import numpy as np
from scipy.signal import fftconvolve

from triptych.demo.everyday.toolkit import (
    RATE,
    Draw,
    Sound,
    highpass,
    level,
    lowpass,
    noise,
    power,
    samples,
)

LOUDNESS = 0.2
"""Root mean square of the loudest 50 ms of what `recorded` gives, clipped ones apart."""


def room(draw: Draw, sound: Sound) -> Sound:
    """In a room of 0.1 to 2.5 s reverberation time, near or far from the microphone.

    The response is an impulse, a few reflections and decaying noise that loses its treble first.
    """
    time = draw.scale(0.1, 2.5)  # until the sound has fallen by 60 dB
    n = samples(min(time, 1.2))
    fall = np.exp(-6.9 * np.arange(n) / RATE / time)
    tail = noise(draw, n, draw.scale(60, 250), draw.scale(3000, 14000), -1, 1) * fall
    dull = lowpass(tail, draw.scale(800, 4000))
    tail = tail * np.exp(-np.arange(n) / RATE / (0.25 * time)) + dull
    tail[: samples(draw.between(0.001, 0.015))] = 0
    tail *= draw.scale(0.1, 2.0) / max(float(np.sqrt(np.sum(tail**2))), 1e-9)
    for _ in range(draw.count(0, 6)):
        tail[min(n - 1, samples(draw.scale(0.001, 0.04)))] += draw.between(-0.5, 0.5)
    tail[0] = 1.0
    return fftconvolve(sound, tail)[: sound.size]


def recorded(draw: Draw, sound: Sound) -> Sound:
    """A sound [n] as a file might hold it: at LOUDNESS, float.

    Half are in a room, some are far away (duller), some overdriven, and some begin or end in the
    middle of the file.
    """
    if draw.chance(0.5):
        sound = room(draw, sound)
    if draw.chance(0.25):
        sound = lowpass(sound, draw.scale(1200, 9000), 1)
    if draw.chance(0.2):
        sound = highpass(sound, draw.scale(60, 500), 1)
    if draw.chance(0.12):
        drive = draw.scale(1.2, 8)
        loud = level(sound) * drive
        sound = np.clip(loud, -1, 1) if draw.chance(0.5) else np.tanh(loud)
    return sound * (LOUDNESS / max(power(sound), 1e-9))
