"""Steadier films: strokes move along with the film instead of being painted anew each frame.

A frame's fine detail comes from a few painted frames, the keys, each moved once along the film's
optical flow from there to here (Ruder et al. 2016): what is moved again every frame blurs, and
sharpening that leaves specks. The strokes fade from one key to the next. All that is coarser stays
the frame's own, and so does the strength of the detail. Nothing is taken where the film changed.
"""

from dataclasses import dataclass
from itertools import compress

import cv2
import numpy as np

from triptych.style.video.flicker import (
    LEAST_VALID_PERCENT,
    flow_between,
    limited,
    on_one_thread,
    positions,
)
from triptych.style.video.transfer import Stylist

LONGEST = 1e4
"""Frames in which strokes fade from a key to the next, at most."""

UNCOVERED = 0.03
"""Share of a frame for which no key has strokes at which it becomes one itself."""

SHOWN = 0.5
"""A key of which a frame shows less than this share of its own detail is given up: strokes reach
far beside what they were painted for."""

LEAST_APART = 2
"""Frames from one key to the next, at least, unless they fade sooner."""

MOST_KEYS = 4
"""Of a film at a time; the oldest is given up."""

AGREEMENT = 0.35
"""Difference of frame and key, over both their variances, at which trust has fallen to 1/e."""

NEIGHBOURHOOD = 2.0
"""Standard deviation, in pixels, of the neighbourhood that is compared."""

REDUCTIONS = (1, 4)
"""Factors by which images are averaged down for that: what is painted there is to be the same, and
what strokes were painted for beside it."""

NOISE = 6.0
"""Standard deviation of noise, in levels, that is no change."""

EVEN = 8.0
"""Standard deviation, in pixels, of the neighbourhood whose flow an even area takes."""

RIM = 16
"""Pixels along a key's border where strokes are others than within it."""

FEATHER = 3
"""Pixels over which trust falls off, so that no edge of it shows."""

HALVINGS = 3
"""Octaves of detail, below the finest, that are kept; what is coarser is each frame's own."""

ENERGY_WINDOW = 25
"""Pixels along a side of the squares in which the strength of detail is compared."""

LARGEST_GAIN = 2.0
"""Factor by which averaged detail is made stronger or weaker at most."""

TINY = 1e-6
"""Weight of a key that has just been taken, where no other has strokes."""


@dataclass
class _Key:
    """A frame of number `number` whose strokes others take: reduced as for the flow, uint8 [h, w,
    3], and as painted, [H, W, 3]; `offsets`: where it has each pixel of the present frame."""

    number: int
    film: np.ndarray
    painted: np.ndarray
    offsets: np.ndarray

    def weight(self, number: int, period: float) -> float:
        """Rises to one in a period, and falls to nothing in the next."""
        age = (number - self.number) / period
        return max(0.0, min(age, 2 - age)) + TINY


class Steadied:
    """A stylist of one video's frames, in their order, with less flicker than another stylist."""

    def __init__(self, stylist: Stylist, share: float) -> None:
        """share: of the fine detail that a frame has of the one before, from 0 to 1; strokes fade
        from a key to the next in 1 / (1 - share) frames"""
        self._stylist = stylist
        self._period = min(LONGEST, 1 / max(1 - share, TINY))
        self._number = -1
        self._before = np.empty(0, np.uint8)  # the last frame, reduced
        self._keys: list[_Key] = []

    def __call__(self, frames: np.ndarray) -> np.ndarray:
        """Stylise frames, uint8 [n, H, W, 3] RGB, to as many."""
        results = np.array(self._stylist(frames))
        if self._period > 1:
            with on_one_thread():
                for number, frame in enumerate(frames):
                    results[number] = self._steadied(limited(frame), results[number])
        return results

    def _steadied(self, frame: np.ndarray, painted: np.ndarray) -> np.ndarray:
        """The next frame, reduced, as painted uint8 [H, W, 3], with the keys' strokes."""
        self._number += 1
        detail = _detail(frame)
        valid = np.ones_like(detail)
        if self._keys:
            flow = flow_between(self._before, frame)
            valid = flow.valid.astype(np.float32)
            if 100 * valid.mean() < LEAST_VALID_PERCENT:
                self._keys.clear()
            offsets = _evened(flow.offsets, detail * valid)
            for key in self._keys:
                key.offsets = offsets + _moved(key.offsets, offsets, cv2.INTER_LINEAR)
        self._before = frame
        film = frame.astype(np.float32)
        self._keys = [k for k in self._keys if self._number - k.number < 2 * self._period]
        variances = _variances(film)
        trusts = [_trust(key, film, variances, valid) for key in self._keys]
        shown = [(trust * detail).sum() >= SHOWN * detail.sum() for trust in trusts]
        self._keys = list(compress(self._keys, shown))
        result = painted
        covered = np.zeros_like(valid)
        if self._keys:
            result, covered = self._mixed(painted, list(compress(trusts, shown)))
        since = self._number - self._keys[-1].number if self._keys else LONGEST
        uncovered = float((covered < 0.5).mean())
        if since >= self._period or (uncovered > UNCOVERED and since >= LEAST_APART):
            still = np.zeros((*frame.shape[:2], 2), np.float32)
            self._keys = [*self._keys, _Key(self._number, frame, painted, still)][-MOST_KEYS:]
        return result

    def _mixed(
        self, painted: np.ndarray, trusts: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """A painted frame with the keys' fine detail, by trust [h, w] in each, and that in any."""
        size = painted.shape[1], painted.shape[0]
        untrusted = np.ones_like(trusts[0])
        total = np.zeros_like(trusts[0])
        mixed = np.zeros(painted.shape, np.float32)
        for key, trust in zip(self._keys, trusts, strict=True):
            untrusted *= 1 - trust
            trust *= key.weight(self._number, self._period)
            total += trust
            offsets = key.offsets
            if trust.shape != painted.shape[:2]:  # flow is of the frame averaged down
                offsets = cv2.resize(offsets, size) * np.float32(size[0] / trust.shape[1])
                trust = cv2.resize(trust, size)
            mixed += trust[..., None] * _moved(key.painted, offsets, cv2.INTER_LANCZOS4)
        trust = 1 - untrusted
        if trust.shape != painted.shape[:2]:
            trust = cv2.resize(trust, size)
            total = cv2.resize(total, size)
        own = painted.astype(np.float32)
        mixed /= np.maximum(total, TINY**2)[..., None]
        mixed = own + trust[..., None] * (mixed - own)
        soft, soft_painted = (cv2.GaussianBlur(image, (3, 3), 0.6) for image in (mixed, own))
        fine = _scaled(mixed - soft, own - soft_painted) + _octaves(soft, soft_painted, HALVINGS)
        # Without trust, what lies beside it scales nothing.
        own += np.minimum(1, 4 * trust)[..., None] * (fine - own)
        return own.round().clip(0, 255).astype(np.uint8), 1 - untrusted


def _octaves(mixed: np.ndarray, painted: np.ndarray, halvings: int) -> np.ndarray:
    """Detail of `mixed` in so many octaves, as strong as that of `painted`, on the rest of that."""
    if halvings == 0 or min(painted.shape[:2]) < 2:
        return painted
    size = painted.shape[1], painted.shape[0]
    coarse, coarse_painted = cv2.pyrDown(mixed), cv2.pyrDown(painted)
    fine = _scaled(
        mixed - cv2.pyrUp(coarse, dstsize=size), painted - cv2.pyrUp(coarse_painted, dstsize=size)
    )
    fine += cv2.pyrUp(_octaves(coarse, coarse_painted, halvings - 1), dstsize=size)
    return fine


def _scaled(mixed: np.ndarray, painted: np.ndarray) -> np.ndarray:
    """Detail `mixed` with the strength that `painted` has around each pixel, both [H, W, 3]."""
    window = ENERGY_WINDOW, ENERGY_WINDOW
    energies = [cv2.blur(np.einsum("hwc,hwc->hw", x, x), window) for x in (painted, mixed)]
    gain = np.sqrt((energies[0] + 1) / (energies[1] + 1))
    mixed *= gain.clip(1 / LARGEST_GAIN, LARGEST_GAIN)[..., None]
    return mixed


def _trust(
    key: _Key, frame: np.ndarray, variances: list[np.ndarray], valid: np.ndarray
) -> np.ndarray:
    """Trust in [0, 1], float32 [h, w]: the flow is valid, its place lies within the key, and that
    shows there what the frame shows, float32 [h, w, 3] with its `_variances`."""
    moved = _moved(key.film, key.offsets, cv2.INTER_CUBIC).astype(np.float32)
    height, width = valid.shape
    within, rim = (_within(*positions(x), valid.shape) for x in (key.offsets, 0 * key.offsets))
    trust = valid * (within / rim.clip(1, RIM)).clip(0, 1)
    differs = np.einsum("hwc,hwc->hw", frame - moved, frame - moved)
    for reduced, own, other in zip(REDUCTIONS, variances, _variances(moved), strict=True):
        unlike = _around(differs, reduced) / (own + other + 3 * NOISE**2)
        trust *= cv2.resize(np.exp(-((unlike / AGREEMENT) ** 4)), (width, height))
    return np.minimum(trust, cv2.blur(trust, (FEATHER, FEATHER))).astype(np.float32)


def _variances(image: np.ndarray) -> list[np.ndarray]:
    """Variance around each pixel of the image [h, w, 3] averaged down by each of REDUCTIONS."""
    square = np.einsum("hwc,hwc->hw", image, image)
    means = [_around(image, reduced) for reduced in REDUCTIONS]
    return [
        (_around(square, reduced) - np.einsum("hwc,hwc->hw", mean, mean)).clip(0)
        for reduced, mean in zip(REDUCTIONS, means, strict=True)
    ]


def _within(across: np.ndarray, down: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """How far places lie within an image's border, in pixels and one more."""
    height, width = shape
    nearest = np.minimum(np.minimum(across, width - 1 - across), down)
    return np.minimum(nearest, height - 1 - down) + 1


def _around(image: np.ndarray, reduced: int) -> np.ndarray:
    """Means around each pixel of the image averaged down so many times."""
    size = [max(1, round(side / reduced)) for side in image.shape[1::-1]]
    small = image if reduced == 1 else cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return cv2.GaussianBlur(small, (0, 0), NEIGHBOURHOOD)


def _detail(frame: np.ndarray) -> np.ndarray:
    """Squared slopes around each pixel of a frame uint8 [h, w, 3]; noise has none."""
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float32)
    slopes = cv2.Scharr(grey, cv2.CV_32F, 1, 0) ** 2 + cv2.Scharr(grey, cv2.CV_32F, 0, 1) ** 2
    around = cv2.GaussianBlur(slopes / 32**2, (0, 0), NEIGHBOURHOOD)
    return np.maximum(around - NOISE**2 / 4, 0) + TINY


def _evened(offsets: np.ndarray, detail: np.ndarray) -> np.ndarray:
    """The flow; where there is no detail for it to hold on to, that of what lies around."""
    weighted = cv2.GaussianBlur(offsets * detail[..., None], (0, 0), EVEN)
    around = weighted / np.maximum(cv2.GaussianBlur(detail, (0, 0), EVEN), TINY**2)[..., None]
    held = (detail / (detail + NOISE**2))[..., None]
    return np.asarray(around + held * (offsets - around), np.float32)


def _moved(image: np.ndarray, offsets: np.ndarray, interpolation: int) -> np.ndarray:
    """The image [H, W, C] before, moved to where its parts are now."""
    across, down = positions(offsets)
    return cv2.remap(image, across, down, interpolation, borderMode=cv2.BORDER_REPLICATE)
