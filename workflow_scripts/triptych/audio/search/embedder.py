"""A trained model put to use: sounds and texts to embeddings."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from triptych.audio.embedding import BATCH_SECONDS, embed_captions, embed_clips
from triptych.audio.models.model_files import open_model
from triptych.core.device import choose_device

PRECISION = "tf32"  # float32 on a CPU


class _Waveforms:
    """Waveforms in memory as a store of clips, named by their numbers."""

    def __init__(self, waveforms: Sequence[NDArray[np.float32]]) -> None:
        self._waveforms = waveforms

    def frames(self, clip: str) -> int:
        return len(self._waveforms[int(clip)])

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> NDArray[np.float32]:
        waveform = self._waveforms[int(clip)]
        return waveform[start : None if frames is None else start + frames]


class Embedder:
    """A model from its folder, on a device."""

    def __init__(self, folder: Path, device: str) -> None:
        """device: "auto", "cpu" or "cuda"."""
        self._device = choose_device(device)
        self._model = open_model(folder, self._device)
        self.batch_seconds = BATCH_SECONDS[self._device.type]

    def sounds(self, waveforms: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Normalised embeddings [W, D] of waveforms, each float32 [frames] at 32 kHz."""
        names = [str(number) for number in range(len(waveforms))]
        return embed_clips(self._model, _Waveforms(waveforms), names, self._device, PRECISION)

    def text(self, text: str) -> NDArray[np.float32]:
        """Normalised embedding [D] of a text, as the text side beside an index gives it, too."""
        return embed_captions(self._model, [text], self._device, PRECISION)[0]

    def write_text(self, model_sha256: str, folder: Path) -> None:
        """Write the model's text side for searches, which need it alone. Raises InputError."""
        from triptych.audio.search.text_export import write_text_side  # takes seconds to import

        model = self._model.cpu()
        write_text_side(model, model_sha256, folder)
        model.to(self._device)
