"""Scenes: one sound, a background while a foreground happens, or two foregrounds in turn."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.signal import fftconvolve

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import COUNTS, TEMPI, WITH_COUNT, WITH_TEMPO, foreground
from triptych.demo.scenes.signals import RATE, edges, filtered, keyed, level, loudness, noise

FAR_DECIBELS = -13.0
NEAR_LOUDNESS = 0.2
BEHIND_LOUDNESS = 0.05
ALONE_LOUDNESS = 0.16
PEAK = 0.97
"""Full scale is 1; no clip goes beyond this."""


@dataclass(frozen=True)
class Scene:
    """What a clip holds. An attribute that applies to none of its sounds is "".

    relation: single (second is ""), while (first: the background, second: the foreground) or then
    (first, second: in time); tempo: slow, normal or fast, of every sound that has one; distance:
    near or far, of every foreground; count: once, twice or several, of every sound that is counted.
    """

    relation: str
    first: str
    second: str
    tempo: str
    distance: str
    count: str

    @property
    def events(self) -> tuple[str, ...]:
        """The classes of sounds, in the order of first and second."""
        return (self.first, self.second) if self.second else (self.first,)

    @property
    def combination(self) -> str:
        """What is held out: "dog", "rain+dog", "dog>bell"."""
        return {"single": "", "while": "+", "then": ">"}[self.relation].join(self.events)

    def swapped(self) -> "Scene":
        """The same sounds in the other order."""
        return replace(self, first=self.second, second=self.first)


def variants(relation: str, first: str, second: str = "") -> list[Scene]:
    """All scenes of one combination: every attribute that applies, with every value."""
    names = [name for name in (first, second) if name]
    tempi = list(TEMPI) if set(names) & set(WITH_TEMPO) else [""]
    counts = list(COUNTS) if set(names) & set(WITH_COUNT) else [""]
    distances = [""] if set(names) <= set(BACKGROUNDS) else ["near", "far"]
    return [
        Scene(relation, first, second, tempo, distance, count)
        for tempo, distance, count in product(tempi, distances, counts)
    ]


def render(scene: Scene, length: float, *key: int | str) -> np.ndarray:
    """A clip, float32 [samples] at RATE within [-PEAK, PEAK]; length in seconds. The parameters of
    all sounds (pitch, phase, place, gain) are drawn by `key`."""
    samples = round(length * RATE)
    generator = keyed("mix", *key)
    if scene.relation == "then":
        cut = round(samples * generator.uniform(0.47, 0.53))
        first = _foreground(scene, scene.first, cut, *key, 0)
        clip = np.concatenate([first, _foreground(scene, scene.second, samples - cut, *key, 1)])
    else:
        clip = np.zeros(samples)
        for place, name in enumerate(scene.events):
            if name in BACKGROUNDS:
                loud = BEHIND_LOUDNESS if scene.relation == "while" else ALONE_LOUDNESS
                sound = BACKGROUNDS[name](keyed("sound", *key, place), samples)
                clip += level(sound, loud * _decibels(generator.uniform(-2, 2)))
            else:
                clip += _foreground(scene, name, samples, *key, place)
    floor = noise(generator, samples, [(50, 0), (500, -6), (5000, -14)])
    clip = clip + floor * _decibels(generator.uniform(-74, -62))
    clip = clip * generator.uniform(0.55, 1.0) * edges(samples, 0.01, 0.02)
    return (clip * min(1.0, PEAK / np.abs(clip).max(initial=PEAK))).astype(np.float32)


def _foreground(scene: Scene, name: str, samples: int, *key: int | str) -> np.ndarray:
    generator = keyed("sound", *key)
    sound = foreground(name, generator, samples, scene.tempo, scene.count)
    near = level(sound, NEAR_LOUDNESS * _decibels(generator.uniform(-2, 2)))
    near *= min(1.0, PEAK / np.abs(near).max(initial=PEAK))
    if scene.distance == "far":
        near = level(_from_afar(generator, sound), loudness(near) * _decibels(FAR_DECIBELS))
    return near * edges(samples, 0.003, 0.03)


def _from_afar(generator: np.random.Generator, sound: np.ndarray) -> np.ndarray:
    """Duller by 8 dB an octave from 900 Hz on, and with a short reverberation."""
    samples = round(0.35 * RATE)
    tail = generator.standard_normal(samples) * np.exp(-np.arange(samples) / RATE / 0.09)
    tail = filtered(tail, [(100, 0), (400, 0), (1600, -8), (6400, -24)])
    dull = filtered(sound, [(900, 0), (1800, -8), (3600, -16), (7200, -24), (11000, -32)])
    tail *= 0.5 / np.sqrt(np.sum(tail**2))
    tail[0] += 1
    return fftconvolve(dull, tail)[: sound.size]


def _decibels(decibels: float) -> float:
    return 10 ** (decibels / 20)
