"""What a retrieval model is made of, without its weights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from triptych.audio.models.mel import MelSettings
from triptych.audio.models.passt import PasstSettings


@dataclass(frozen=True)
class ModelSettings:
    """All sizes and choices of a joint model but those of its text side.

    The text side's sizes come with its folder, since published models bring their own.
    """

    audio: PasstSettings
    segment_seconds: float  # of the waveform that the audio side sees at once
    patchout: tuple[int, int]  # rows and columns of patches that a training step drops
    projection: int  # dimensions that audio and text share
    temperature: float  # initial, of the similarities
    learn_temperature: bool
    text_dropout: float  # in training; the report's code has 0.2

    def __post_init__(self) -> None:
        rows, columns = self.grid
        if not (0 <= self.patchout[0] < rows and 0 <= self.patchout[1] < columns):
            raise ValueError(
                f"patchout {list(self.patchout)}: segments of {self.segment_seconds} s make "
                f"{rows} rows and {columns} columns of patches; give fewer"
            )
        if self.temperature <= 0 or self.projection < 1:
            raise ValueError(
                f"temperature {self.temperature}, projection {self.projection}: expected positive"
            )

    @property
    def segment_samples(self) -> int:
        """Samples of a segment, at 32 kHz."""
        return round(self.segment_seconds * MelSettings.sample_rate)

    @property
    def segment_frames(self) -> int:
        """Frames of a segment's spectrogram."""
        return MelSettings().frames(self.segment_samples)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of a segment's patches."""
        return self.audio.grid(self.segment_frames)

    @classmethod
    def from_config(
        cls, audio_model: Mapping[str, Any], model: Mapping[str, Any], text_dropout: float
    ) -> "ModelSettings":
        """From an entry of the config's `audio.audio_models` and from its `audio.model`."""
        audio = PasstSettings(
            stride=(audio_model["stride"][0], audio_model["stride"][1]),
            frames=audio_model["frames"],
            dim=audio_model["dim"],
            depth=audio_model["depth"],
            heads=audio_model["heads"],
            classes=0 if audio_model["weights"] == "none" else PasstSettings.classes,
        )
        return cls(
            audio=audio,
            segment_seconds=audio_model["segment_seconds"],
            patchout=(audio_model["patchout"][0], audio_model["patchout"][1]),
            projection=model["projection"],
            temperature=model["temperature"],
            learn_temperature=model["learn_temperature"],
            text_dropout=text_dropout,
        )

    def to_table(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "ModelSettings":
        """What `to_table` gave, read back from JSON."""
        audio = {**table["audio"], "stride": tuple(table["audio"]["stride"])}
        own = {**table, "audio": PasstSettings(**audio), "patchout": tuple(table["patchout"])}
        return cls(**own)
