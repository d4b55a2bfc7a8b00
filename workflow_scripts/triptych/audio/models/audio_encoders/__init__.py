"""The audio encoders: `class` of an audio model in the config names a module of this folder."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from triptych.audio.models.entries import as_field, class_name, read_entry, settings_class

if TYPE_CHECKING:
    import torch
    from torch import nn

MELS = 128
"""Bands of the spectrogram that every encoder hears, at 100 frames a second."""
SHARED = ("label", "class", "weights", "segment_seconds", "projection_hidden")
"""Keys that an entry of any class may have."""


@dataclass(frozen=True)
class AudioEncoder(ABC):
    """Settings of an audio encoder. published: names of weights that it can start from."""

    dim: int  # of an embedding

    published: ClassVar[tuple[str, ...]] = ()
    ignores_gain: ClassVar[bool] = False
    """Whether a search may bring recordings to one level, above the front end's floor."""

    @abstractmethod
    def network(self) -> "nn.Module":
        """A network with random weights: log-mel segments [N, 1, MELS, frames] to [N, dim].

        Where `draw` returns a value, the network takes it as its second argument.
        """

    def check(self, frames: int) -> None:
        """Raise ValueError if the encoder cannot hear segments of so many frames."""
        if frames < 1:
            raise ValueError(f"segments of {frames} frames: expected at least one")

    def draw(self, frames: int, generator: "torch.Generator") -> Any:
        """Parts of the input that a training step leaves out for its whole batch, or None."""
        return None

    def pretrained(self) -> "AudioEncoder":
        """The settings of the network that published weights belong to."""
        return self

    def load(self, network: "nn.Module", path: Any) -> None:
        """Load published weights. Raises InputError for a file that does not fit."""
        raise NotImplementedError

    @property
    def overlap(self) -> bool | None:
        """Whether patches of the spectrogram overlap; None if there are no patches."""
        return None


def audio_encoder(entry: Mapping[str, Any]) -> AudioEncoder:
    """The settings of an entry of `audio_models`; its default class is passt.

    Raises ValueError whose message continues the entry's key.
    """
    entry = {"class": "passt", "weights": "none", **entry}
    settings: AudioEncoder = read_entry(__name__, entry, SHARED)
    weights = entry["weights"]
    if weights not in (allowed := ("none", *settings.published)):
        raise ValueError(f".weights is {weights!r}; allowed is one of {', '.join(allowed)}")
    return settings if weights == "none" else settings.pretrained()


def to_table(encoder: AudioEncoder) -> dict[str, Any]:
    return {"class": class_name(encoder), **asdict(encoder)}


def from_table(table: Mapping[str, Any]) -> AudioEncoder:
    """The settings that `to_table` wrote. Raises KeyError and TypeError for other tables."""
    values = {key: as_field(value) for key, value in table.items() if key != "class"}
    settings: AudioEncoder = settings_class(__name__, table["class"])(**values)
    return settings
