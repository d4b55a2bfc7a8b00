"""Sound files written whole: libsndfile itself keeps quiet when a full disk cuts a FLAC's end."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray


def write_sound(
    path: str | os.PathLike[str], samples: NDArray[np.generic], rate: int, kind: str
) -> None:
    """Write samples [n] or [n, channels], floats within [-1, 1] or int16, as 16 bits.

    kind: "WAV" or "FLAC". Raises OSError where the disk is full.
    """
    coded = io.BytesIO()
    settings: dict[str, Any] = {"format": kind, "subtype": "PCM_16"}
    soundfile.write(coded, samples, rate, **settings)
    Path(path).write_bytes(coded.getbuffer())
