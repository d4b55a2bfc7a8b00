"""What everyday sounds are made of: noise, resonances, harmonics, grains and slow curves.

Everything is mono at RATE, float [samples]; lengths named `seconds` or `length` are in seconds,
those named `n` in samples. A sound's random numbers all come from the Draw that it is given.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfftfreq
from scipy.signal import butter, iirpeak, lfilter, sosfilt

T = TypeVar("T")
RATE = 32000
"""Samples a second: what the audio models hear."""

Sound = NDArray[np.floating]
Formants = Sequence[tuple[float | Sound, float, float]]
"""Resonances of a voice: hertz (a number, or one a sample), bandwidth in hertz, gain."""


class Draw:
    """Random choices for one sound of `n` samples."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.rng, self.n = rng, n

    def between(self, low: float, high: float) -> float:
        """Uniform."""
        return float(self.rng.uniform(low, high))

    def scale(self, low: float, high: float) -> float:
        """Uniform in the logarithm, as pitches and rates are."""
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def count(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return bool(self.rng.uniform() < share)

    def pick(self, *options: T) -> T:
        """One of them."""
        return options[int(self.rng.integers(len(options)))]

    def spread(self, low: float, high: float, size: int) -> Sound:
        """So many uniform numbers."""
        return self.rng.uniform(low, high, size)


def samples(seconds: float) -> int:
    """At least one."""
    return max(1, round(seconds * RATE))


def noise(
    draw: Draw, n: int, low: float = 30, high: float = 15500, slope: float = 0.0, order: float = 4
) -> Sound:
    """Gaussian noise of unit power within a band.

    slope: decibels an octave; order: of the band's edges.
    """
    size = next_fast_len(n, real=True)
    hertz = np.maximum(rfftfreq(size, 1 / RATE), 1.0).astype(np.float32)
    gain = (hertz / 1000) ** np.float32(slope / 6.02)
    with np.errstate(over="ignore"):  # far from the band: a gain of 0
        edges = (1 + (low / hertz) ** (2 * order), 1 + (hertz / high) ** (2 * order))
    gain /= np.sqrt(edges[0]) * np.sqrt(edges[1])
    parts = draw.rng.standard_normal((2, hertz.size), dtype=np.float32)
    made = irfft((parts[0] + 1j * parts[1]) * gain, size)[:n]
    return made / max(float(np.sqrt(np.mean(made**2))), 1e-9)


def wander(draw: Draw, n: int, hertz: float, low: float = 0.0, high: float = 1.0) -> Sound:
    """A smooth random curve within [low, high] that turns about `hertz` times a second."""
    places = np.arange(n) * (hertz / RATE) + draw.between(0, 1)
    points = draw.spread(0, 1, int(places[-1]) + 2)
    left = places.astype(int)
    part = places - left
    part = part * part * (3 - 2 * part)
    return low + (high - low) * (points[left] * (1 - part) + points[left + 1] * part)


def curve(n: int, *points: float) -> Sound:
    """Straight lines through evenly spaced points."""
    return np.interp(np.linspace(0, len(points) - 1, n), np.arange(len(points)), points)


def hump(n: int, power: float = 1.0) -> Sound:
    """From 0 to 1 and back, half a sine."""
    return np.sin(np.pi * np.linspace(0, 1, n)) ** power


def fade(n: int, attack: float, release: float) -> Sound:
    """1, but for a rise and a fall at the ends, in seconds."""
    time = np.arange(n) / RATE
    rise = np.minimum(time / max(attack, 1e-4), 1)
    return rise * np.clip((n / RATE - time) / max(release, 1e-4), 0, 1)


def decay(n: int, seconds: float) -> Sound:
    """Falls to 1/e in so many seconds."""
    return np.exp(-np.arange(n) / (RATE * seconds))


def phase(f0: Sound | float, n: int) -> Sound:
    """Turns of an oscillator of so many hertz."""
    return np.cumsum(np.broadcast_to(np.asarray(f0, float), n)) / RATE


def sine(f0: Sound | float, n: int) -> Sound:
    """A pure tone, which may glide."""
    return np.sin(2 * np.pi * phase(f0, n))


def tone(f0: Sound | float, n: int, gains: Sequence[float] | Sound) -> Sound:
    """Harmonics of these gains, as far as the band goes."""
    top, out = float(np.max(f0)), np.zeros(n)
    for number, (gain, harmonic) in enumerate(zip(gains, harmonics(phase(f0, n)), strict=False), 1):
        if number * top > 15500:
            break
        out += gain * harmonic
    return out


def harmonics(turns: Sound) -> Iterator[Sound]:
    """sin(k x) for k = 1, 2, ..., by sin(k x) = 2 cos(x) sin((k - 1) x) - sin((k - 2) x)."""
    before, now = np.zeros(turns.size), np.sin(2 * np.pi * turns)
    twice = 2 * np.cos(2 * np.pi * turns)
    while True:
        yield now
        before, now = now, twice * now - before


def pulses(f0: Sound | float, n: int) -> Sound:
    """An impulse a period."""
    return np.diff(np.floor(phase(f0, n)), prepend=0.0)


def voiced(f0: Sound, formants: Formants, tilt: float = -9.0) -> Sound:
    """Harmonics of a glottis, each as loud as the vocal tract lets it be at its frequency.

    f0: hertz, one a sample; tilt: of the source, decibels an octave.
    """
    n = f0.size
    every = np.arange(0, n + 128, 64).clip(max=n - 1)  # where gains are computed, between: lines
    ramp = np.arange(64) / 64
    coarse = f0[every]
    tract = [(f[every] if isinstance(f, np.ndarray) else f, b, g) for f, b, g in formants]
    out = np.zeros(n)
    for number, harmonic in enumerate(islice(harmonics(phase(f0, n)), 100), 1):
        hertz = number * coarse
        if hertz.min() > 12000:
            break
        gain = sum(g / (1 + ((hertz - f) / (b / 2)) ** 2) for f, b, g in tract) + 0.004
        gain *= number ** (tilt / 6.02) * (hertz < 14500)
        lines = gain[:-1, None] + np.diff(gain)[:, None] * ramp
        out += lines.ravel()[:n] * harmonic
    return out


def resonate(signal: Sound, formants: Formants) -> Sound:
    """Through resonances side by side, each with unit gain at its peak times its own."""
    out = np.zeros_like(signal, dtype=float)
    for hertz, bandwidth, gain in formants:
        b, a = iirpeak(min(float(hertz), 15000), max(float(hertz) / bandwidth, 0.05), fs=RATE)
        out += gain * lfilter(b, a, signal)
    return out


def lowpass(signal: Sound, hertz: float, order: int = 2) -> Sound:
    """Butterworth."""
    return sosfilt(butter(order, min(hertz, 15500), "low", fs=RATE, output="sos"), signal)


def highpass(signal: Sound, hertz: float, order: int = 2) -> Sound:
    """Butterworth."""
    return sosfilt(butter(order, hertz, "high", fs=RATE, output="sos"), signal)


def bandpass(signal: Sound, low: float, high: float, order: int = 2) -> Sound:
    """Butterworth."""
    band = (low, min(high, 15500))
    return sosfilt(butter(order, band, "band", fs=RATE, output="sos"), signal)


def ring(
    length: float, frequencies: Sound, decays: Sound | float, gains: Sound | float = 1.0
) -> Sound:
    """Modes of something struck; decays: seconds until 1/e."""
    time = np.arange(samples(length)) / RATE
    frequencies, decays, gains = np.broadcast_arrays(frequencies, decays, gains)
    out = np.zeros(time.size)
    for hertz, fall, gain in zip(frequencies, decays, gains, strict=True):
        if hertz < 15500:
            out += gain * np.exp(-time / fall) * np.sin(2 * np.pi * hertz * time)
    return out * fade(time.size, 0.0004, 0.1 * length)


def click(draw: Draw, length: float, fall: float, low: float = 200, high: float = 12000) -> Sound:
    """A burst of noise that dies away, unit peak."""
    n = samples(length)
    made = noise(draw, n, low, high, order=2) * decay(n, fall) * fade(n, 0.0005, 0.2 * length)
    return made / max(float(np.abs(made).max()), 1e-9)


def struck(draw: Draw, low: float, high: float, modes: int, length: float, fall: float) -> Sound:
    """An object with random modes in a band, hit once: high ones die sooner. Unit peak."""
    hertz = np.sort(np.exp(draw.spread(np.log(low), np.log(high), modes)))
    made = ring(length, hertz, fall * (hertz[0] / hertz) ** 0.6, draw.spread(0.3, 1, modes))
    return made / max(float(np.abs(made).max()), 1e-9)


def put(out: Sound, at: float, grain: Sound, gain: float = 1.0) -> None:
    """Add a grain that begins `at` seconds; what lies outside is cut off."""
    start = round(at * RATE)
    if start < 0:
        grain, start = grain[-start:], 0
    size = min(grain.size, out.size - start)
    if size > 0:
        out[start : start + size] += gain * grain[:size]


def steady(draw: Draw, n: int, rate: float, jitter: float = 0.03) -> Sound:
    """Times at a rate, each off by a share of the interval."""
    times = np.arange(draw.between(0, 1), n / RATE * rate + 1) / rate
    return np.abs(times + draw.rng.normal(0, jitter / rate, times.size))


def poisson(draw: Draw, n: int, rate: float) -> Sound:
    """Times by chance, so many a second."""
    return np.sort(draw.spread(0, n / RATE, max(1, int(draw.rng.poisson(rate * n / RATE)))))


def spells(draw: Draw, n: int, few: tuple[int, int], gap: tuple[float, float]) -> Sound:
    """Times of a few events, so many seconds apart, the first soon."""
    room = n / RATE
    gaps = np.exp(draw.spread(np.log(gap[0]), np.log(gap[1]), draw.count(*few)))
    times = draw.between(0, 0.25 * room) + np.concatenate([[0], np.cumsum(gaps)[:-1]])
    return times[times < 0.95 * room]


def events(draw: Draw, times: Sound, grain: Callable[[], Sound], soft: float = 0.5) -> Sound:
    """A grain at each time, the softest `soft` times as loud as the loudest."""
    out = np.zeros(draw.n)
    for at in times:
        put(out, float(at), grain(), draw.between(soft, 1))
    return out


def dense(draw: Draw, times: Sound, grains: Sequence[Sound], soft: float = 0.05) -> Sound:
    """Many events out of a few grains, most of them soft: drops, crackles, claps."""
    out = np.zeros(draw.n)
    loud = soft ** draw.spread(0, 1, len(times))
    which = draw.rng.integers(len(grains), size=len(times))
    for at, gain, number in zip(times, loud, which, strict=True):
        put(out, float(at), grains[number], float(gain))
    return out


def level(signal: Sound, peak: float = 1.0) -> Sound:
    """Scaled to a peak; silence stays."""
    return signal * (peak / max(float(np.abs(signal).max(initial=0.0)), 1e-9))


def power(signal: Sound) -> float:
    """Root mean square of the loudest 50 ms."""
    frame = RATE // 20
    padded = np.pad(signal, (0, -signal.size % frame)).reshape(-1, frame)
    return float(np.sqrt((padded**2).mean(1).max(initial=0.0)))
