"""Spectrograms in PNG, MP3 for players, and templates of the search pages."""

import base64
import io
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import soundfile
from markupsafe import Markup
from numpy.typing import NDArray
from PIL import Image

import triptych.report
from triptych.audio.data.decoding import SAMPLE_RATE

TEMPLATES = Path(__file__).parent / "templates"
STYLE = Path(triptych.report.__path__[0]) / "templates" / "style.css"
"""The report's; `triptych.report.page` would take a second to import."""
COLUMNS, ROWS = 160, 56
"""Pixels of a spectrogram. The page stretches them; noise does not compress, so they are few."""
WINDOW = 1024
LEVELS = 24
"""Shades: enough for the eye, a third of the bytes of 256."""
RANGE_DB = 60.0
HIGHEST_HZ = 15_000.0
MP3_QUALITY = 0.8
"""libsndfile's scale, 0 the best: with a variable rate at most about 45 kbit/s at 32 kHz, mono."""

# Perceptually even steps from dark blue to pale yellow (the end points and turns of "magma").
_SHADES = np.frombuffer(
    bytes.fromhex("000004 1c1044 4f127b 812581 b5367a e55064 fb8761 fec287 fcfdbf"), np.uint8
).reshape(-1, 3)


def addresses(waveform: NDArray[np.float32]) -> tuple[str, str]:
    """data: addresses of `spectrogram_png` and `mp3`, for a page that needs nothing but itself."""
    media = ("image/png", spectrogram_png(waveform)), ("audio/mpeg", mp3(waveform))
    png, sound = (f"data:{kind};base64,{base64.b64encode(data).decode()}" for kind, data in media)
    return png, sound


def mp3(waveform: NDArray[np.float32]) -> bytes:
    """An MP3 of a waveform [frames] at 32 kHz, no louder than full scale."""
    stream = io.BytesIO()
    soundfile.write(
        stream,
        np.clip(waveform, -1, 1),
        SAMPLE_RATE,
        format="MP3",
        subtype="MPEG_LAYER_III",
        compression_level=MP3_QUALITY,
        bitrate_mode="VARIABLE",
    )
    return stream.getvalue()


def spectrogram_png(waveform: NDArray[np.float32]) -> bytes:
    """A PNG of the spectrogram, drawn from left to right, low pitches below."""
    shades = np.round(levels(spectrogram(waveform)) * (LEVELS - 1)).astype(np.uint8)
    image = Image.fromarray(shades[::-1], mode="P")
    image.putpalette(palette().tobytes())
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True, bits=5)
    return stream.getvalue()


def spectrogram(waveform: NDArray[np.float32]) -> NDArray[np.float64]:
    """Power [ROWS, COLUMNS] of a waveform [frames] at 32 kHz: mel bands, low ones first."""
    padded = np.pad(np.asarray(waveform, dtype=np.float64), WINDOW // 2)
    padded = np.pad(padded, (0, max(0, WINDOW - len(padded))))
    # Twice as many frames as columns at least, so that short events fall into none's gap.
    frames = max(2 * COLUMNS, len(padded) // (WINDOW // 2))
    starts = np.linspace(0, len(padded) - WINDOW, frames).astype(int)
    cut = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[starts]
    power = np.abs(np.fft.rfft(cut * np.hanning(WINDOW), axis=1)) ** 2
    bands = power @ _mel_bank().T
    edges = np.linspace(0, frames, COLUMNS + 1).astype(int)
    return np.add.reduceat(bands, edges[:-1], axis=0).T / np.diff(edges)


def levels(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Power as brightness, 0 to 1: RANGE_DB decibels up to the loudest; silence is dark."""
    loudest = power.max()
    if loudest <= 1e-12:
        return np.zeros_like(power)
    decibels = 10 * np.log10(np.maximum(power, 1e-12 * loudest) / loudest)
    return np.clip(1 + decibels / RANGE_DB, 0, 1)


def palette() -> NDArray[np.uint8]:
    """[LEVELS, 3] colours from dark to bright."""
    at = np.linspace(0, len(_SHADES) - 1, LEVELS)
    channels = [np.interp(at, np.arange(len(_SHADES)), _SHADES[:, c]) for c in range(3)]
    return np.round(np.stack(channels, axis=1)).astype(np.uint8)


@cache
def _mel_bank() -> NDArray[np.float64]:
    """Triangles [ROWS, WINDOW // 2 + 1] that are even in mel = 1127 ln(1 + f / 700)."""
    hertz = np.fft.rfftfreq(WINDOW, 1 / SAMPLE_RATE)
    mel = 1127 * np.log1p(hertz / 700)
    corners = np.linspace(0, 1127 * np.log1p(HIGHEST_HZ / 700), ROWS + 2)
    low, peak, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    bank = np.maximum(0, np.minimum((mel - low) / (peak - low), (high - mel) / (high - peak)))
    # The lowest bands are narrower than the spectrum's steps; they take the nearest step.
    for row in np.flatnonzero(bank.sum(axis=1) == 0):
        bank[row, np.argmin(np.abs(mel - corners[row + 1]))] = 1
    return bank / bank.sum(axis=1, keepdims=True)


def render(template: str, **values: Any) -> str:
    """A page, with what all pages of searches share; `style`, the report's, may be given."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    shared = {
        "style": Markup(STYLE.read_text(encoding="utf-8")),
        "own_style": Markup((TEMPLATES / "search.css").read_text(encoding="utf-8")),
    }
    return environment.get_template(template).render(**shared | values).lstrip()
