"""The pool: every kind of sound many times over, as spectrograms that scenes are mixed from.

A spectrogram is the logarithm of mel power above FLOOR, so that silence is 0 and adding sounds is
adding powers. Waveforms are computed once, heard once by the models' own front end, and forgotten.
"""

import hashlib
import json
import logging
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.signal import fftconvolve

from makers.sounds.catalogue import KINDS
from makers.sounds.toolkit import RATE, Draw, Sound, highpass, level, lowpass, noise, power, samples
from triptych.audio.models.audio_encoders import MELS
from triptych.audio.models.mel import LogMel
from triptych.audio.models.settings import frames_of
from triptych.core.progress import Progress

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


logger = logging.getLogger(__name__)

FLOOR = 1e-8
"""Mel power of silence; the front end's own is 1e-5."""
_LOUDER = 32.0  # what waveforms are heard at, so that the front end's floor is below FLOOR


@dataclass(frozen=True)
class PoolSettings:
    """How many sounds of each kind, and how long."""

    each: int  # sounds of a kind that scenes of the training are mixed from
    held_out: int  # sounds of a kind for the scenes by which checkpoints are chosen
    seconds: float
    seed: int

    @property
    def total(self) -> int:
        """Sounds of a kind."""
        return self.each + self.held_out


def keyed(*key: int | str) -> np.random.Generator:
    """A generator whose stream is a function of `key`."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def sound(name: str, number: int, settings: PoolSettings) -> np.ndarray:
    """The waveform of a kind's sound of this number: float32 [samples].

    A function of its arguments alone.

    The first `held_out` are held out, the others the training's; a number stays the same sound
    when there are more.
    """
    draw = Draw(keyed("everyday", settings.seed, name, number), round(settings.seconds * RATE))
    return recorded(draw, KINDS[name].make(draw)).astype(np.float32)


def spectrogram(waveform: np.ndarray, front: LogMel) -> np.ndarray:
    """float16 [bands, frames], 0 in silence."""
    heard = front(torch.from_numpy(waveform)[None] * _LOUDER)[0, 0]
    power = ((5 * heard.double() - 4.5).exp() - 1e-5).clamp(min=0) / _LOUDER**2
    logarithm = torch.log(power + FLOOR) - np.log(FLOOR)
    return logarithm.half().numpy()


def write_pool(folder: str | os.PathLike[str], settings: PoolSettings, made_for: str = "") -> None:
    """Write `folder`: sounds.npy [total, kinds, bands, frames] float16, and pool.json, last.

    made_for: a fingerprint of the settings; a whole pool that was made for it stays.
    """
    folder, names, front = Path(folder), list(KINDS), LogMel()
    folder.mkdir(parents=True, exist_ok=True)
    described = {"kinds": names, "settings": asdict(settings), "made_for": made_for}
    done = folder / "pool.json"
    if done.exists() and json.loads(done.read_text()) == described:
        return
    done.unlink(missing_ok=True)
    frames = frames_of(round(settings.seconds * RATE))
    shape = (settings.total, len(names), MELS, frames)
    sounds = np.lib.format.open_memmap(folder / "sounds.npy", "w+", np.float16, shape)
    with Progress("everyday sounds", settings.total, "rounds") as progress:
        for number in range(settings.total):
            for place, name in enumerate(names):
                sounds[number, place] = spectrogram(sound(name, number, settings), front)
            progress.advance(1)
    sounds.flush()
    done.write_text(json.dumps(described, indent=1) + "\n")
    logger.info("%d kinds, %d sounds of each", len(names), settings.total)


class Pool:
    """What `write_pool` wrote, as tensors."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Raises FileNotFoundError for a folder that isn't whole, ValueError for other kinds."""
        described = json.loads((Path(folder) / "pool.json").read_text())
        self.kinds: list[str] = described["kinds"]
        if self.kinds != list(KINDS):
            raise ValueError(f"{folder}: a pool of other kinds of sound; make it again")
        self.settings = PoolSettings(**described["settings"])
        self._sounds = np.load(Path(folder) / "sounds.npy", mmap_mode="r")

    def sound(self, kind: int, number: int) -> np.ndarray:
        """A sound's spectrogram, float16 [bands, frames]."""
        spectrum: np.ndarray = self._sounds[number, kind]
        return spectrum
