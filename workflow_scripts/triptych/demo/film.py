"""A little film with sound, for trying video stylisation without one's own.

The camera glides over a bundled photograph while a hot-air balloon drifts across it, so that some
of every frame moves by itself and hides what lies behind.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.style.data.photographs import embedded_photographs
from triptych.style.video.sound import sound_from
from triptych.style.video.writing import VideoWriter

SAMPLES_A_SECOND = 44_100
SAMPLES_A_FRAME = 1024  # AAC's
OVERSAMPLED = 2
"""Frames are drawn at this multiple of their size and averaged down: smooth edges and motion."""

START, END = np.array([0.44, 0.44, 0.84]), np.array([0.56, 0.52, 0.62])
"""The camera's view: its centre across and down, and its width, in shares of the largest view."""

A_MAJOR = (220.00, 277.18, 329.63, 440.00)
F_SHARP_MINOR = (185.00, 277.18, 369.99, 440.00)
B_MINOR = (246.94, 293.66, 369.99, 493.88)
CHORDS = (A_MAJOR, F_SHARP_MINOR, B_MINOR)  # hertz

STRIPES = np.array([[206, 58, 48], [243, 189, 72], [238, 232, 213], [47, 104, 140]], np.float32)
BASKET = np.array([104, 68, 40], np.float32)


class Film(NamedTuple):
    """`photograph` is a name of `embedded_photographs`; sizes in pixels."""

    photograph: str = "china"
    frames: int = 48
    frames_per_second: float = 24
    width: int = 320
    height: int = 180


def write_film(path: str | Path, film: Film) -> None:
    """Write the film with its sound as an H.264 mp4."""
    fps = Fraction(film.frames_per_second).limit_denominator(1001)
    seconds = film.frames / float(fps)
    sound = sound_from(_audio_frames(tones(seconds)), SAMPLES_A_SECOND, "stereo")
    size = film.height, film.width
    with (
        atomic_path(path) as temporary,
        VideoWriter(temporary, size, fps, 1 / fps, crf=14, sound=sound) as writer,
    ):
        for number, frame in enumerate(film_frames(film)):
            writer.write(frame, number)
        writer.finish(film.frames)


def film_frames(film: Film) -> Iterator[np.ndarray]:
    """The film's frames, uint8 [height, width, 3] RGB."""
    import cv2

    photographs = embedded_photographs()
    if film.photograph not in photographs:
        known = ", ".join(sorted(photographs))
        raise InputError(f"no bundled photograph {film.photograph!r}; choose one of {known}")
    picture = np.asarray(photographs[film.photograph], np.float32)
    size = film.width * OVERSAMPLED, film.height * OVERSAMPLED
    for number in range(film.frames):
        share = number / (film.frames - 1)
        view = cv2.warpAffine(
            picture,
            _view(picture.shape[:2], size, 0.5 - 0.5 * np.cos(np.pi * share)),
            size,
            flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REFLECT,
        )
        painted = with_balloon(view, -0.12 + 0.95 * share, 0.36 - 0.05 * np.sin(2.6 * share + 0.3))
        small = cv2.resize(painted, (film.width, film.height), interpolation=cv2.INTER_AREA)
        yield small.round().clip(0, 255).astype(np.uint8)


def with_balloon(picture: np.ndarray, across: float, down: float) -> np.ndarray:
    """`picture`, float [H, W, 3], with a balloon centred at shares of its width and height."""
    height, width = picture.shape[:2]
    radius = 0.21 * height
    rows, columns = np.mgrid[:height, :width].astype(np.float32) + 0.5
    x = (columns - across * width) / radius
    y = (rows - down * height) / radius
    # A circle above, drawn out to the basket's ropes below.
    half = np.sqrt(np.clip(1 - np.where(y < 0, y, y / 1.35) ** 2, 0, None))
    half = np.where(y > 0, half * (1 - 0.28 * np.clip(y / 1.35, 0, 1) ** 2), half)
    inside = np.clip((half - np.abs(x)) * radius, 0, 1) * (y < 1.28)
    bulge = np.arcsin(np.clip(x / np.maximum(half, 1e-3), -1, 1)) / np.pi + 0.5
    stripes = STRIPES[(bulge * 7.999).astype(int) % len(STRIPES)]
    light = np.clip(1.12 - 0.28 * (x + 0.45) ** 2 - 0.22 * (y + 0.4) ** 2, 0.35, 1.15)
    balloon = _over(picture, stripes * light[..., None], inside)
    ropes = (np.abs(np.abs(x) - (0.25 - 0.12 * (y - 1.28))) < 0.018) & (y > 1.2) & (y < 1.66)
    balloon = _over(balloon, np.broadcast_to(BASKET * 0.6, picture.shape), ropes.astype(np.float32))
    basket = (np.abs(x) < 0.19) & (y > 1.62) & (y < 1.88)
    weave = BASKET * (1 + 0.25 * np.sign(np.sin(y * 40)))[..., None]
    return _over(balloon, weave, basket.astype(np.float32))


def tones(seconds: float) -> np.ndarray:
    """Soft chords that follow one another, float32 [2, samples], both channels within +-0.5."""
    count = round(seconds * SAMPLES_A_SECOND)
    time = np.arange(count) / SAMPLES_A_SECOND
    chord_seconds = seconds / len(CHORDS)
    sound = np.zeros((2, count))
    for number, chord in enumerate(CHORDS):
        local = time - number * chord_seconds
        # Each note swells within a tenth of a second and rings on into the next chord.
        for voice, pitch in enumerate(chord):
            begun = np.clip(local - 0.06 * voice, 0, None)
            envelope = (1 - np.exp(-begun / 0.04)) * np.exp(-begun / 0.7)
            wave = np.sin(2 * np.pi * pitch * begun) + 0.3 * np.sin(4 * np.pi * pitch * begun)
            right = (voice + 0.5) / len(chord)
            sound += np.outer(np.sqrt([1 - right, right]), envelope * wave)
    fade = np.clip((seconds - time) / 0.15, 0, 1)
    sound *= fade * 0.5 / np.abs(sound).max()
    return sound.astype(np.float32)


def _view(shape: tuple[int, int], size: tuple[int, int], share: float) -> np.ndarray:
    """The affine map from pixels of the frame, [width, height] `size`, to the photograph's."""
    height, width = shape
    across, down, wide = START + (END - START) * share
    scale = wide * min(width / size[0], height / size[1])
    # Half a pixel: OpenCV's coordinates are those of pixel centres.
    offset = across * width - scale * size[0] / 2 + scale / 2 - 0.5
    top = down * height - scale * size[1] / 2 + scale / 2 - 0.5
    return np.array([[scale, 0, offset], [0, scale, top]])


def _over(below: np.ndarray, above: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return below + (above - below) * alpha[..., None]


def _audio_frames(sound: np.ndarray) -> Iterator[Any]:
    import av

    for first in range(0, sound.shape[1], SAMPLES_A_FRAME):
        part = np.ascontiguousarray(sound[:, first : first + SAMPLES_A_FRAME])
        frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="stereo")
        frame.sample_rate = SAMPLES_A_SECOND
        frame.pts, frame.time_base = first, Fraction(1, SAMPLES_A_SECOND)
        yield frame
