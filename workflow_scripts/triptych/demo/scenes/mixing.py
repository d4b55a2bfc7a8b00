"""Scenes: one sound, a background while a foreground happens, or two foregrounds in turn."""

from dataclasses import dataclass

import numpy as np

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import foreground
from triptych.demo.scenes.signals import RATE, edges, keyed, level, noise

FOREGROUND, BACKGROUND = 0.2, {"single": 0.16, "while": 0.05}
"""Root mean square of the loudest 50 ms; of a background by the relation of its scene."""
PEAK = 0.97
"""Largest sample of a clip; full scale is 1."""


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
        """The classes of sounds."""
        return (self.first, self.second) if self.second else (self.first,)

    @property
    def combination(self) -> str:
        """A readable key: "dog", "rain+dog", "dog>bell"."""
        return {"single": "", "while": "+", "then": ">"}[self.relation].join(self.events)


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
        random = keyed("sound", *key, place)
        if name in BACKGROUNDS:
            sound, loudness = BACKGROUNDS[name](random, end - start), BACKGROUND[scene.relation]
        else:
            sound, loudness = foreground(name, random, end - start), FOREGROUND
        sound = level(sound, loudness * _decibels(generator.uniform(-2, 2)))
        clip[start:end] += sound * edges(end - start, 0.003, 0.03)
    floor = noise(generator, samples, [(50, 0), (500, -6), (5000, -14)])
    clip = clip + floor * _decibels(generator.uniform(-74, -62))
    clip = clip * generator.uniform(0.55, 1.0) * edges(samples, 0.01, 0.02)
    return (clip * min(1.0, PEAK / np.abs(clip).max(initial=PEAK))).astype(np.float32)


def _decibels(decibels: float) -> float:
    return 10 ** (decibels / 20)
