"""Measurements of sounds for the tests of the synthesised scenes, all by plain NumPy."""

import numpy as np

RATE = 22050


def power(signal):
    """(frequencies, power) of a whole signal."""
    spectrum = np.abs(np.fft.rfft(signal * np.hanning(signal.size))) ** 2
    return np.fft.rfftfreq(signal.size, 1 / RATE), spectrum


def centroid(signal):
    """Mean frequency, weighted with power, in hertz."""
    frequencies, spectrum = power(signal)
    return float((frequencies * spectrum).sum() / spectrum.sum())


def share(signal, low, high):
    """The part of a signal's power between two frequencies."""
    frequencies, spectrum = power(signal)
    return float(spectrum[(frequencies >= low) & (frequencies < high)].sum() / spectrum.sum())


def envelope(signal, hertz=200):
    """Root mean square of each 1/hertz second."""
    frame = RATE // hertz
    return np.sqrt((signal[: signal.size // frame * frame].reshape(-1, frame) ** 2).mean(axis=1))


def onsets(signal, quiet=0.08):
    """How many times the sound sets in: the envelope more than doubles and stands out."""
    rms = envelope(signal, 50)
    before = np.concatenate([[0], rms[:-1]])
    rising = (rms > 2 * before) & (rms > quiet * rms.max())
    starts = np.flatnonzero(rising)
    return 1 + int((np.diff(starts) > 5).sum()) if starts.size else 0


def decibels(signal):
    """Level of the whole signal."""
    return 10 * np.log10(np.mean(np.asarray(signal, float) ** 2))
