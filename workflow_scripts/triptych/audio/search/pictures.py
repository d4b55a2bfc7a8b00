"""Spectrograms in PNG, MP3 for players, and templates of the search pages."""

import io
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
from triptych.report.embedding import data_address

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


def addresses(waveform: NDArray[np.float32]) -> tuple[str, str]:
    """data: addresses of `spectrogram_png` and `mp3`, for a page that needs nothing but itself."""
    picture = data_address(spectrogram_png(waveform), "image/png")
    return picture, data_address(mp3(waveform), "audio/mpeg")


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
    from matplotlib import colormaps  # 0.2 s of import

    shades = np.round(levels(spectrogram(waveform)) * (LEVELS - 1)).astype(np.uint8)
    image = Image.fromarray(shades[::-1], mode="P")
    image.putpalette(colormaps["magma"](np.linspace(0, 1, LEVELS), bytes=True)[:, :3].tobytes())
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True, bits=5)
    return stream.getvalue()


def spectrogram(waveform: NDArray[np.float32]) -> NDArray[np.float32]:
    """Power [ROWS, COLUMNS] of a waveform [frames] at 32 kHz: mel bands, low ones first."""
    from scipy import signal  # 0.4 s of import

    padded = np.pad(waveform, WINDOW // 2)
    # Twice as many frames as columns at least, so that short events fall into none's gap.
    step = max(1, min(WINDOW // 2, len(waveform) // (2 * COLUMNS)))
    hertz, _, power = signal.spectrogram(
        padded, SAMPLE_RATE, "hann", WINDOW, WINDOW - step, detrend=False
    )
    # Bands are even in mel = 1127 ln(1 + f / 700).
    edges = 700 * np.expm1(np.linspace(0, np.log1p(HIGHEST_HZ / 700), ROWS + 1))
    band = np.digitize(hertz, edges) - 1
    bands = np.stack([power[band == row].mean(axis=0) for row in range(ROWS)])
    picture = Image.fromarray(bands.astype(np.float32))
    return np.asarray(picture.resize((COLUMNS, ROWS), Image.Resampling.BOX))


def levels(power: NDArray[np.float32]) -> NDArray[np.float32]:
    """Power as brightness, 0 to 1: RANGE_DB decibels up to the loudest; silence is dark."""
    loudest = power.max()
    if loudest <= 1e-19:
        return np.zeros_like(power)
    decibels = 10 * np.log10(np.maximum(power, 1e-12 * loudest) / loudest)
    return np.clip(1 + decibels / RANGE_DB, 0, 1)


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
