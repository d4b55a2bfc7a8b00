"""Spectrograms of clips, computed once in a job instead of once in every epoch."""

import numpy as np
import torch
from numpy.typing import NDArray

from triptych.audio.data.shards import Store
from triptych.audio.models.mel import LogMel
from triptych.audio.models.retrieval import segments_with_audio

ROOM = 512 * 2**20
"""Bytes of spectrograms that a job keeps: nearly three hours of sound."""


class Spectrograms:
    """A store of what a model hears: the log-mel spectrograms of a clip's segments.

    Those of whole clips are kept as long as they take at most `room` bytes; all others are computed
    whenever they are read. samples: of a segment.
    """

    def __init__(self, store: Store, samples: int, room: int = ROOM) -> None:
        self._store, self._samples, self._room = store, samples, room
        self._front = LogMel()
        self._kept: dict[str, NDArray[np.float32]] = {}

    def frames(self, clip: str) -> int:
        """Length of a clip in samples."""
        return self._store.frames(clip)

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> NDArray[np.float32]:
        """Log-mel spectrograms [segments, MELS, frames] of a clip or a part, not to be changed."""
        whole = start == 0 and frames in (None, self.frames(clip))
        if whole and clip in self._kept:
            return self._kept[clip]
        waveform = torch.from_numpy(self._store.read(clip, start, frames))
        segments, _ = segments_with_audio(waveform[None], [len(waveform)], self._samples)
        mel = self._front.logarithm(segments).numpy()
        if whole and mel.nbytes <= self._room:
            self._kept[clip] = mel
            self._room -= mel.nbytes
        return mel
