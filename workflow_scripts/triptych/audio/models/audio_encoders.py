"""The audio encoders: what `class` of an audio model in the config can be.

Each is a frozen dataclass of settings whose fields without a default are keys of its entry.
Planning reads them without PyTorch: networks lie in files of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from triptych.audio.models.encoder_entries import class_of, plain, read_entry

if TYPE_CHECKING:
    import torch
    from torch import nn

MELS = 128
"""Bands of the spectrogram that every encoder hears, at 100 frames a second."""
PATCH = 16
"""Bands and frames of PaSST's patches."""
AUDIOSET = 527
"""Classes of the heads in published checkpoints."""
SHARED = ("label", "class", "weights", "segment_seconds", "projection_hidden")
"""Keys that an entry of any class may have."""


@dataclass(frozen=True)
class AudioEncoder(ABC):
    """Settings of an audio encoder. published: weights that it can start from."""

    dim: int  # of an embedding

    published: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def network(self) -> "nn.Module":
        """Log-mel segments [N, 1, MELS, frames] to embeddings [N, dim], with random weights.

        Where `draw` returns a value, the network takes it as its second argument.
        """

    def check(self, frames: int) -> None:
        """Raise ValueError where it can't hear segments of so many frames."""
        if frames < 1:
            raise ValueError(f"segments of {frames} frames: expected at least one")

    def draw(self, frames: int, generator: "torch.Generator") -> Any:
        """What a step of training leaves out, the same for its whole batch; None for nothing."""
        return None

    def pretrained(self) -> "AudioEncoder":
        """Load published weights, which may come with layers that nobody needs."""
        return self

    @property
    def overlap(self) -> bool | None:
        """Whether the patches that a spectrogram is cut into overlap; None where there are none."""
        return None


@dataclass(frozen=True)
class PasstSettings(AudioEncoder):
    """A transformer's sizes. `frames` is the longest input that it has positions for."""

    stride: tuple[int, int]  # between patches: bands, frames
    frames: int
    depth: int
    heads: int
    patchout: tuple[int, int]  # rows and columns of patches that a training step drops
    classes: int = 0  # of heads that nobody reads; 0: no such heads

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
        """Rows and columns of patches in so many frames. Raises ValueError where they don't fit."""
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
        """PaSST."""
        from triptych.audio.models.passt import Passt

        return Passt(self)

    def draw(self, frames: int, generator: "torch.Generator") -> Any:
        """Structured patchout: the rows and columns that are left."""
        from triptych.audio.models.passt import draw_patchout

        if not any(self.patchout):
            return None
        return draw_patchout(*self.grid(frames), self.patchout, generator)

    def check(self, frames: int) -> None:
        """Raise ValueError where patchout would leave no patch of such a segment, or none fits."""
        rows, columns = self.grid(frames)
        if not (0 <= self.patchout[0] < rows and 0 <= self.patchout[1] < columns):
            raise ValueError(
                f"patchout {list(self.patchout)}: segments of {frames} frames make "
                f"{rows} rows and {columns} columns of patches; give fewer"
            )

    def pretrained(self) -> "PasstSettings":
        """With the heads for AudioSet, so that checkpoints load strictly."""
        return replace(self, classes=AUDIOSET)

    @property
    def overlap(self) -> bool:
        """Whether patches overlap."""
        return min(self.stride) < PATCH


@dataclass(frozen=True)
class StatisticsSettings(AudioEncoder):
    """Statistics of the spectrogram, and layers of `width` above them."""

    width: int

    def network(self) -> "nn.Module":
        """The network."""
        from triptych.audio.models.statistics import Statistics

        return Statistics(self.dim, self.width)


PUBLISHED = {
    name: PasstSettings(768, stride, frames, 12, 12, patchout, AUDIOSET)
    for name, stride, frames, patchout in (
        ("passt_n", (16, 16), 1000, (2, 15)),
        ("passt_s", (10, 10), 998, (4, 50)),
        ("passt_s15", (10, 10), 2000, (4, 80)),
    )
}
"""The checkpoints behind the report's PaSST-N, -S and -S15; the last takes 15 s of its 20."""

AUDIO_ENCODERS: dict[str, type[AudioEncoder]] = {
    "passt": PasstSettings,
    "statistics": StatisticsSettings,
}
"""By `class` in the config."""


def audio_encoder(entry: Mapping[str, Any]) -> AudioEncoder:
    """The encoder of an entry of the config's `audio_models`; without `class` it is a PaSST.

    Raises ValueError, made to stand behind the entry's key, for what no encoder is made of.
    """
    entry = {"class": "passt", "weights": "none", **entry}
    made, weights = read_entry(AUDIO_ENCODERS, entry, SHARED), entry["weights"]
    if weights not in (allowed := ("none", *made.published)):
        raise ValueError(f".weights is {weights!r}; allowed is one of {', '.join(allowed)}")
    return made if weights == "none" else made.pretrained()


def to_table(encoder: AudioEncoder) -> dict[str, Any]:
    """Settings as JSON can hold them."""
    return {"class": class_of(AUDIO_ENCODERS, encoder), **asdict(encoder)}


def from_table(table: Mapping[str, Any]) -> AudioEncoder:
    """What `to_table` gave, read back from JSON. Raises KeyError and TypeError for other tables."""
    kind = AUDIO_ENCODERS[table["class"]]
    return kind(**{key: plain(value) for key, value in table.items() if key != "class"})
