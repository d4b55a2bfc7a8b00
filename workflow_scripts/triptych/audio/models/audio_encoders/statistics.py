"""Statistics of the spectrogram, and layers of `width` units above them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triptych.audio.models.audio_encoders import AudioEncoder

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Settings(AudioEncoder):
    """Sizes of the layers."""

    width: int

    ignores_gain = True

    def network(self) -> "nn.Module":
        from triptych.audio.models.statistics import Statistics

        return Statistics(self.dim, self.width)
