"""Parts of sounds: shaped noise, grains, ringing modes, slow curves; mono, [samples]."""

import hashlib
from collections.abc import Sequence

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft, rfftfreq

RATE = 22050
"""Samples a second of everything that is rendered; files are upsampled when written."""

Curve = Sequence[tuple[float, float]]
"""Points (hertz, decibels) of a spectrum, joined by lines over the logarithm of frequency."""


def keyed(*key: int | str) -> np.random.Generator:
    """A generator whose stream is a function of `key`, for instance ("clip", seed, 12)."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def seconds(samples: int) -> np.ndarray:
    """The time of every sample."""
    return np.arange(samples) / RATE


def filtered(signal: np.ndarray, curve: Curve) -> np.ndarray:
    """A signal [..., samples] with its spectrum shaped, without delay."""
    samples = signal.shape[-1]
    size = next_fast_len(samples + RATE // 20, real=True)
    return irfft(rfft(signal, size) * _gains(size, curve), size)[..., :samples]


def noise(generator: np.random.Generator, samples: int, curve: Curve) -> np.ndarray:
    """Gaussian noise [samples] of a given spectrum and a root mean square of 1."""
    size = next_fast_len(samples, real=True)
    bins = generator.standard_normal((size // 2 + 1, 2), dtype=np.float32)
    spectrum = (bins[:, 0] + 1j * bins[:, 1]) * _gains(size, curve).astype(np.float32)
    signal = irfft(spectrum, size)[:samples]
    return signal / max(np.sqrt(np.mean(signal**2)), 1e-12)


def _gains(size: int, curve: Curve) -> np.ndarray:
    hertz, decibels = np.asarray(curve, float).T
    frequencies = rfftfreq(size, 1 / RATE)
    return 10 ** (np.interp(np.log(frequencies + 1), np.log(hertz + 1), decibels) / 20)


def wander(generator: np.random.Generator, samples: int, hertz: float) -> np.ndarray:
    """A smooth random curve [samples] within [0, 1] that turns about `hertz` times a second."""
    places = np.arange(samples) * (hertz / RATE) + generator.uniform()
    points = generator.uniform(size=int(places[-1]) + 2)
    before = places.astype(int)
    part = places - before
    part = part * part * (3 - 2 * part)
    return points[before] * (1 - part) + points[before + 1] * part


def swept(frequency: np.ndarray | float, samples: int, phase: float = 0.0) -> np.ndarray:
    """Phase in turns [..., samples] of an oscillator whose frequency in hertz may change."""
    shape = (*np.shape(frequency)[:-1], samples)
    return np.cumsum(np.broadcast_to(frequency, shape), axis=-1, dtype=float) / RATE + phase


def sine(turns: np.ndarray) -> np.ndarray:
    """Sine of phases in turns."""
    return np.sin(2 * np.pi * turns)


def struck(
    frequencies: np.ndarray, decays: np.ndarray, gains: np.ndarray, length: float
) -> np.ndarray:
    """Ringing of `length` seconds, [n, samples]: modes [n, m] of frequencies in
    hertz that decay to 1/e in so many seconds. Starts in 0.5 ms, fades over its last tenth."""
    time = seconds(round(length * RATE))
    frequencies, decays, gains = np.broadcast_arrays(frequencies, decays, gains)
    ringing = np.exp(-time / decays[..., None]) * sine(frequencies[..., None] * time)
    return (gains[..., None] * ringing).sum(-2) * edges(time.size, 0.0005, 0.1 * length)


def edges(samples: int, attack: float, release: float) -> np.ndarray:
    """A gain [samples] that rises over `attack` seconds and falls over the last `release`."""
    time = seconds(samples)
    rise = np.minimum(time / max(attack, 1 / RATE), 1)
    return rise * np.clip((samples / RATE - time) / max(release, 1 / RATE), 0, 1)


def burst(
    generator: np.random.Generator, count: int, length: float, decay: float, curve: Curve
) -> np.ndarray:
    """Short decaying noises [count, samples] of a given spectrum; length and decay in seconds."""
    samples = round(length * RATE)
    raw = generator.standard_normal((count, samples))
    shaped = filtered(raw * np.exp(-seconds(samples) / decay), curve)
    shaped *= edges(samples, 0.0005, decay)
    return shaped / np.abs(shaped).max(axis=1, keepdims=True)


def place(samples: int, starts: np.ndarray, grains: np.ndarray) -> np.ndarray:
    """A signal [samples] with grains [n, length] added from samples `starts` [n] on, cut off at its
    end."""
    length = grains.shape[1]
    at = np.asarray(starts, int)[:, None] + np.arange(length)
    inside = at < samples
    return np.bincount(at[inside], weights=grains[inside], minlength=samples)


def loudness(signal: np.ndarray) -> float:
    """Root mean square of the loudest 50 ms of a signal [samples]; 0 for an empty one."""
    frame = round(0.05 * RATE)
    padded = np.pad(signal, (0, -signal.size % frame)).reshape(-1, frame)
    return float(np.sqrt((padded**2).mean(axis=1).max(initial=0.0)))


def level(signal: np.ndarray, target: float) -> np.ndarray:
    """The signal with a root mean square of `target` in its loudest 50 ms; silence stays."""
    return signal * (target / max(loudness(signal), 1e-9))
