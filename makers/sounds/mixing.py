"""Scenes out of the pool, batch by batch: one to three sounds, and what happens to recordings.

All of it is done to spectrograms, a batch at a time: sounds are stretched, shifted in pitch and
added as powers; then come reverberation, a noise floor, a microphone's colour, a band's limits, a
gain, and silence where a file is shorter than what the model hears. So no two scenes are alike.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from makers.sounds.pool import FLOOR, Pool, keyed
from triptych.audio.models.statistics import measure
from triptych.core.progress import Progress

BANDS = 128


@dataclass(frozen=True)
class Scenes:
    """A batch. mel: what the audio side sees, [B, 1, bands, frames]; kinds: of each scene."""

    mel: Tensor
    kinds: list[list[int]]


class Mixer:
    """Scenes of `frames` frames from a pool."""

    def __init__(self, pool: Pool, frames: int) -> None:
        self._pool, self._frames = pool, frames
        generator = torch.Generator().manual_seed(0)
        spread = torch.linspace(0.9, 0.3, BANDS)[:, None]  # narrow bands fluctuate more
        self._field = (spread * torch.randn(BANDS, 8192, generator=generator)).exp()

    def training(self, seed: int, step: int, size: int) -> Scenes:
        """The batch of a step: a function of the arguments."""
        rng = keyed("scenes", seed, step)
        kinds = _draw_kinds(rng, size, len(self._pool.kinds))
        numbers = self._pool.settings.held_out + rng.integers(
            self._pool.settings.each, size=kinds.shape
        )
        return self._scenes(rng, kinds, numbers, masked=True)

    def held_out(self, number: int) -> Scenes:
        """A scene of one sound for every kind, of the held-out sounds' `number`."""
        kinds = np.arange(len(self._pool.kinds))[:, None]
        numbers = np.full_like(kinds, number)
        return self._scenes(keyed("held out", number), kinds, numbers, masked=False)

    def _scenes(
        self, rng: np.random.Generator, kinds: np.ndarray, numbers: np.ndarray, masked: bool
    ) -> Scenes:
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        size = len(kinds)
        power = torch.zeros(size, BANDS, self._frames)
        for layer in range(kinds.shape[1]):
            some = np.flatnonzero(kinds[:, layer] >= 0)
            heard = self._heard(rng, kinds[some, layer], numbers[some, layer])
            gain = 1.0 if layer == 0 else 10 ** _between(generator, -1.8, 0.0, len(some), 1, 1)
            power[torch.from_numpy(some)] += FLOOR * torch.expm1(heard) * gain
        mel = self._recorded(power, generator)
        if masked:
            hide(mel, generator)
        return Scenes(mel[:, None], [[int(one) for one in row if one >= 0] for row in kinds])

    def _heard(self, rng: np.random.Generator, kinds: np.ndarray, numbers: np.ndarray) -> Tensor:
        """Spectrograms [N, bands, frames] of sounds: each faster or slower, higher or lower."""
        count = len(kinds)
        speeds = np.exp(rng.uniform(-0.22, 0.22, count))
        starts = rng.uniform(-0.2, 0.08, count) * self._frames
        scales, shifts = rng.uniform(0.94, 1.06, count), rng.normal(0, 3.2, count)
        made = np.empty((count, BANDS, self._frames), np.float16)
        for row in range(count):
            given = self._pool.sound(kinds[row], numbers[row])
            made[row] = warped(
                given, self._frames, speeds[row], starts[row], scales[row], shifts[row]
            )
        return torch.from_numpy(made).float()

    def _recorded(self, power: Tensor, generator: torch.Generator) -> Tensor:
        """[B, bands, frames] of power to what the front end makes of it."""
        size = len(power)
        wet = torch.rand(size, generator=generator) < 0.3
        power[wet] = reverberated(power[wet], generator)
        peak = power.mean(1).amax(1).clamp(min=FLOOR)[:, None, None]
        power += peak * self._noise(size, generator)
        power *= colour(size, generator)[:, :, None]
        power *= 10 ** _between(generator, -3.5, 1.2, size, 1, 1)
        place = torch.arange(self._frames)[None, None] / self._frames
        first = _sometimes(generator, 0.1, 0.0, 0.3, 0.0, size)
        last = _sometimes(generator, 0.25, 0.35, 1.0, 1.01, size)
        power *= (place >= first) & (place < last)
        return (power + 1e-5).log_().add_(4.5).div_(5)

    def _noise(self, size: int, generator: torch.Generator) -> Tensor:
        """A noise floor 12 to 70 dB below the scene, of any colour, in four of five scenes."""
        level = 10 ** _sometimes(generator, 0.8, -7.0, -1.2, -12.0, size)
        tilt = torch.linspace(-1, 1, BANDS)[None, :, None] * _between(generator, -4, 3, size, 1, 1)
        offsets = torch.randint(8192 - self._frames, (size,), generator=generator).tolist()
        field = torch.stack([self._field[:, at : at + self._frames] for at in offsets])
        return field * (level * tilt.exp())


def _draw_kinds(rng: np.random.Generator, size: int, many: int) -> np.ndarray:
    """[size, 3] kinds, -1 for none; every kind comes first equally often."""
    rounds = -(-size // many)
    first = np.concatenate([rng.permutation(many) for _ in range(rounds)])[:size]
    others = rng.integers(many, size=(size, 2))
    counts = rng.uniform(size=size)
    others[:, 0][counts < 0.6] = -1
    others[:, 1][counts < 0.92] = -1
    return np.concatenate([first[:, None], others], axis=1)


def _between(generator: torch.Generator, low: float, high: float, *shape: int) -> Tensor:
    return low + (high - low) * torch.rand(*shape, generator=generator)


def _sometimes(
    generator: torch.Generator, share: float, low: float, high: float, otherwise: float, size: int
) -> Tensor:
    drawn = _between(generator, low, high, size, 1, 1)
    return torch.where(
        _between(generator, 0, 1, size, 1, 1) < share, drawn, torch.tensor(otherwise)
    )


def warped(
    heard: np.ndarray, frames: int, speed: float, start: float, scale: float, shift: float
) -> np.ndarray:
    """A spectrogram [bands, any] on other axes, [bands, frames]: the nearest of what is given.

    Frame t is its frame start + speed t, band b its band scale b + shift; beyond its edges it is 0.
    """
    bands, given = heard.shape
    rows = np.rint(scale * np.arange(bands) + shift).astype(int)
    columns = np.rint(start + speed * np.arange(frames)).astype(int)
    inside = (rows >= 0) & (rows < bands), (columns >= 0) & (columns < given)
    made = np.zeros((bands, frames), heard.dtype)
    made[np.ix_(*inside)] = heard[np.ix_(rows[inside[0]], columns[inside[1]])]
    return made


def reverberated(power: Tensor, generator: torch.Generator) -> Tensor:
    """A tail of decaying power behind every frame, shorter for the treble."""
    count, bands, _ = power.shape
    if not count:
        return power
    time = torch.exp(_between(generator, -2.0, 0.7, count, 1)) * torch.linspace(1.2, 0.5, bands)
    keep = torch.exp(-13.8 * 0.01 / time)
    share = 10 ** _between(generator, -2.0, 0.0, count, 1) * (1 - keep)
    turned, tail = power.permute(2, 0, 1).contiguous(), torch.zeros(count, bands)
    for frame in turned:
        tail = tail * keep + frame * share
        frame += tail
    return turned.permute(1, 2, 0)


def colour(size: int, generator: torch.Generator) -> Tensor:
    """Gains of power [size, bands]: a smooth random curve, and often an upper and a lower limit."""
    points = 1.15 * torch.randn(size, 1, 7, generator=generator)  # 5 dB
    smooth = functional.interpolate(points, BANDS, mode="linear", align_corners=True)[:, 0]
    band = torch.arange(BANDS)[None]
    top = _sometimes(generator, 0.45, 62, 126, 200, size)[:, 0]
    bottom = _sometimes(generator, 0.35, 0, 26, -50, size)[:, 0]
    steep = _between(generator, 0.15, 1.5, size, 1)
    limits = steep * (torch.relu(band - top) + torch.relu(bottom - band))
    return (smooth - limits.clamp(max=13)).exp()


def hide(mel: Tensor, generator: torch.Generator) -> None:
    """SpecAugment in place: two stripes of bands and one of frames, each scene its own."""
    size, bands, frames = mel.shape
    for axis, length, widest in ((1, bands, 14), (1, bands, 14), (2, frames, frames // 8)):
        width = _between(generator, 0, widest, size, 1, 1)
        first = _between(generator, 0, 1, size, 1, 1) * (length - width)
        place = torch.arange(length).reshape((1, -1, 1) if axis == 1 else (1, 1, -1))
        mel.masked_fill_((place >= first) & (place < first + width), 0.0)


TOGETHER = 128
"""Scenes that are mixed and measured at a time."""


def write_measured(
    folder: str | os.PathLike[str], mixer: Mixer, scenes: int, seed: int, made_for: str = ""
) -> None:
    """Write `folder`: measured.npy [scenes, numbers] float16, kinds.npy [scenes, 3], done.json.

    scenes: rounded up to a multiple of TOGETHER; fewer are the first of more. A kind of -1 is none.
    made_for: a fingerprint of the settings; whole scenes that were made for it stay.
    """
    folder, batches = Path(folder), -(-scenes // TOGETHER)
    folder.mkdir(parents=True, exist_ok=True)
    done, described = folder / "done.json", {"made_for": made_for, "seed": seed, "scenes": scenes}
    if done.exists() and json.loads(done.read_text()) == described:
        return
    done.unlink(missing_ok=True)
    parts = []
    with Progress("scenes measured", batches, "batches") as progress:
        for batch in range(batches):
            made = mixer.training(seed, batch, TOGETHER)
            rows = np.array([[*each, -1, -1][:3] for each in made.kinds], np.int16)
            parts.append((measure(made.mel).half().numpy(), rows))
            progress.advance(1)
    measured, kinds = (np.concatenate(each) for each in zip(*parts, strict=True))
    np.save(folder / "measured.npy", measured)
    np.save(folder / "kinds.npy", kinds)
    done.write_text(json.dumps(described))


class Measured:
    """What `write_measured` wrote."""

    def __init__(self, folder: str | os.PathLike[str], scenes: int) -> None:
        """scenes: how many of them are looked at."""
        self.numbers = torch.from_numpy(np.load(Path(folder) / "measured.npy")[:scenes])
        rows = np.load(Path(folder) / "kinds.npy")[:scenes].tolist()
        self.kinds = [[one for one in row if one >= 0] for row in rows]
