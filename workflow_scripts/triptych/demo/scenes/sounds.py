"""Scenes and their sounds: tones, noises and clicks, by the table scenes.yaml.

A scene is one sound, a background while a foreground happens, or two foregrounds in turn.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.signal import butter, fftconvolve, sosfilt

RATE = 22050
"""Samples a second of everything that is rendered; files are upsampled when written."""
FOREGROUND, BACKGROUND = 0.2, {"single": 0.16, "while": 0.05}
"""Root mean square of the loudest 50 ms; of a background by the relation of its scene."""
PEAK = 0.97
"""Largest sample of a clip; full scale is 1."""

TABLE = yaml.safe_load(Path(__file__).with_name("scenes.yaml").read_text(encoding="utf-8"))
CLASSES: dict[str, dict[str, Any]] = TABLE["classes"]
BACKGROUNDS = [name for name, kind in CLASSES.items() if "rate" not in kind]
FOREGROUNDS = [name for name, kind in CLASSES.items() if "rate" in kind]


@dataclass(frozen=True)
class Scene:
    """The sounds of a clip.

    relation: single (second is ""), while (a background and a foreground) or then (two foregrounds
    in their order).
    """

    relation: str
    first: str
    second: str = ""

    @property
    def events(self) -> tuple[str, ...]:
        return (self.first, self.second) if self.second else (self.first,)

    @property
    def combination(self) -> str:
        """A readable key: "dog", "rain+dog", "dog>bell"."""
        return {"single": "", "while": "+", "then": ">"}[self.relation].join(self.events)


def keyed(*key: int | str) -> np.random.Generator:
    """A generator whose stream is a function of `key`, for instance ("clip", seed, 12)."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def render(scene: Scene, length: float, *key: int | str) -> np.ndarray:
    """A clip, float32 [samples] at RATE within [-PEAK, PEAK]; length in seconds.

    Pitch, phase, place and gain of all sounds are drawn by `key`.
    """
    samples = round(length * RATE)
    generator = keyed("mix", *key)
    clip = np.zeros(samples)
    cut = round(samples * generator.uniform(0.47, 0.53))
    for place, name in enumerate(scene.events):
        start, end = 0, samples
        if scene.relation == "then":
            start, end = ((0, cut), (cut, samples))[place]
        made = sound(name, keyed("sound", *key, place), end - start)
        level = BACKGROUND[scene.relation] if name in BACKGROUNDS else FOREGROUND
        level *= _decibels(generator.uniform(-2, 2)) / max(loudness(made), 1e-9)
        clip[start:end] += level * made * _edges(end - start, 0.003, 0.03)
    clip += _decibels(generator.uniform(-84, -72)) * generator.standard_normal(samples)
    clip *= generator.uniform(0.55, 1.0) * _edges(samples, 0.01, 0.02)
    return (clip * min(1.0, PEAK / np.abs(clip).max(initial=PEAK))).astype(np.float32)


def sound(name: str, generator: np.random.Generator, samples: int) -> np.ndarray:
    """A sound [samples] of one class, at any level: its layers together."""
    kind, total = CLASSES[name], np.zeros(samples)
    rate = kind.get("rate", 1) * generator.uniform(0.7, 1.4)
    first = generator.uniform(0.02, 0.35) * RATE / rate
    beats = np.arange(first, samples - 0.02 * RATE, RATE / rate).astype(int)
    for layer in kind["layers"]:
        if "decay" not in layer:
            total += layer.get("gain", 1) * _wave(layer, generator, samples)
            continue
        starts = beats
        if "rate" in layer:
            starts = generator.integers(0, samples, round(layer["rate"] * samples / RATE))
        hits = np.bincount(starts, generator.uniform(0.7, 1.0, starts.size), samples)
        length = round(layer.get("length", 5 * layer["decay"]) * RATE)
        fall = np.exp(-np.arange(length) / (layer["decay"] * RATE)) * _edges(length, 0.001, 0.01)
        hit = layer.get("gain", 1) * _wave(layer, generator, length) * fall
        total += fftconvolve(hits, hit)[:samples]
    return total


def _wave(layer: Mapping[str, Any], generator: np.random.Generator, samples: int) -> np.ndarray:
    """A steady tone or noise [samples] with a root mean square of 1, then its pulses."""
    if "noise" in layer:
        band = butter(2, layer["noise"], "bandpass", fs=RATE, output="sos")
        wave = sosfilt(band, generator.standard_normal(samples))
    else:
        pitch = np.exp(generator.uniform(*np.log(layer["tone"])))
        pitches = pitch * np.linspace(1, layer.get("glide", 1), samples)
        ratios = np.array(layer.get("partials", [1]))[:, None]
        gains = generator.uniform(0.4, 1, ratios.shape)
        wave = (gains * np.sin(2 * np.pi * ratios * np.cumsum(pitches) / RATE)).sum(0)
    wave = wave / np.sqrt(np.mean(wave**2))
    if "pulse" in layer:
        rate, phase = layer["pulse"] * generator.uniform(0.85, 1.15), generator.uniform()
        wave *= np.sin(np.pi * (rate * np.arange(samples) / RATE + phase)) ** 4
    return wave


def _edges(samples: int, attack: float, release: float) -> np.ndarray:
    """A gain [samples] that rises over `attack` seconds and falls over the last `release`."""
    time = np.arange(samples) / RATE
    return np.clip(time / attack, 0, 1) * np.clip((samples / RATE - time) / release, 0, 1)


def loudness(signal: np.ndarray) -> float:
    """Root mean square of the loudest 50 ms of a signal [samples]; 0 for an empty one."""
    frame = round(0.05 * RATE)
    padded = np.pad(signal, (0, -signal.size % frame)).reshape(-1, frame)
    return float(np.sqrt((padded**2).mean(axis=1).max(initial=0.0)))


def _decibels(decibels: float) -> float:
    return 10 ** (decibels / 20)
