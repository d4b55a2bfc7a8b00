"""PaSST, a spectrogram transformer (Koutini et al. 2021), in the sizes N, S, S15 and smaller."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from triptych.audio.models.audio_encoders import MELS, AudioEncoder

if TYPE_CHECKING:
    import torch
    from torch import nn

PATCH = 16
"""Bands and frames of a patch."""
AUDIOSET = 527
"""Classes of the heads in published checkpoints."""


@dataclass(frozen=True)
class Settings(AudioEncoder):
    """A transformer's sizes. `frames` is the longest input that it has positions for."""

    stride: tuple[int, int]  # between patches: bands, frames
    frames: int
    depth: int
    heads: int
    patchout: tuple[int, int]  # rows and columns of patches that a training step drops
    classes: int = 0  # of unused classification heads; 0: no such heads

    published = ("passt_n", "passt_s", "passt_s15")
    patch: ClassVar[int] = PATCH

    def __post_init__(self) -> None:
        if self.dim % self.heads:
            raise ValueError(f"dim {self.dim} is not a multiple of heads {self.heads}")
        if min(self.stride) < 1 or self.frames < PATCH:
            raise ValueError(
                f"stride {self.stride} and patches of {PATCH} for {MELS} bands and "
                f"{self.frames} frames: expected positive strides and room for a patch"
            )

    @property
    def positions(self) -> tuple[int, int]:
        """Rows and columns that have a position."""
        return MELS // self.stride[0], self.frames // self.stride[1]

    def grid(self, frames: int) -> tuple[int, int]:
        """Rows and columns of patches in so many frames. Raises ValueError if they don't fit."""
        rows = (MELS - PATCH) // self.stride[0] + 1
        columns = (frames - PATCH) // self.stride[1] + 1
        most = self.positions[1]
        if frames < PATCH or columns > most:
            longest = (most - 1) * self.stride[1] + PATCH + self.stride[1] - 1
            raise ValueError(
                f"a spectrogram of {frames} frames; this PaSST takes {PATCH} to {longest} "
                "frames. Split the waveform into shorter segments, or take a model of more frames."
            )
        return rows, columns

    def network(self) -> "nn.Module":
        from triptych.audio.models.passt import Passt

        return Passt(self)

    def draw(self, frames: int, generator: "torch.Generator") -> Any:
        """Structured patchout: the rows and columns that are kept."""
        from triptych.audio.models.passt import draw_patchout

        if not any(self.patchout):
            return None
        return draw_patchout(*self.grid(frames), self.patchout, generator)

    def check(self, frames: int) -> None:
        """Raise ValueError if a segment does not fit or patchout would leave no patch."""
        rows, columns = self.grid(frames)
        if not (0 <= self.patchout[0] < rows and 0 <= self.patchout[1] < columns):
            raise ValueError(
                f"patchout {list(self.patchout)}: segments of {frames} frames make "
                f"{rows} rows and {columns} columns of patches; give fewer"
            )

    def pretrained(self) -> "Settings":
        """With the heads for AudioSet, so that checkpoints load strictly."""
        return replace(self, classes=AUDIOSET)

    def load(self, network: "nn.Module", path: Any) -> None:
        from triptych.audio.models.passt import load_passt

        load_passt(network, path, self)

    @property
    def overlap(self) -> bool:
        return min(self.stride) < PATCH


PUBLISHED = {
    name: Settings(
        dim=768,
        stride=stride,
        frames=frames,
        depth=12,
        heads=12,
        patchout=patchout,
        classes=AUDIOSET,
    )
    for name, stride, frames, patchout in (
        ("passt_n", (16, 16), 1000, (2, 15)),
        ("passt_s", (10, 10), 998, (4, 50)),
        ("passt_s15", (10, 10), 2000, (4, 80)),
    )
}
"""The checkpoints behind the report's PaSST-N, -S and -S15; the last takes 15 s of its 20."""
