"""Settings of a retrieval model, and the table in its folder; read without PyTorch."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from triptych.audio.models.audio_encoders import AudioEncoder, audio_encoder, from_table, to_table
from triptych.core.errors import InputError

SAMPLE_RATE = 32_000
"""Hz of what models hear."""
HOP = 320
"""Samples between two frames of a spectrogram: 10 ms."""


def frames_of(samples: int) -> int:
    """Frames of a waveform of so many samples; pre-emphasis takes one sample."""
    return (samples - 1) // HOP + 1


@dataclass(frozen=True)
class ModelSettings:
    """All sizes and choices of a joint model but the text side's, which come with its folder."""

    audio: AudioEncoder
    segment_seconds: float  # of the waveform that the audio side sees at once
    projection: int  # dimensions that audio and text share
    temperature: float  # initial, of the similarities
    learn_temperature: bool
    text_dropout: float  # in training; the report's code has 0.2
    projection_hidden: int = 0  # units of a layer in each projection; 0: linear, as in the report

    def __post_init__(self) -> None:
        self.audio.check(self.segment_frames)

    @property
    def segment_samples(self) -> int:
        """Samples of a segment, at 32 kHz."""
        return round(self.segment_seconds * SAMPLE_RATE)

    @property
    def segment_frames(self) -> int:
        return frames_of(self.segment_samples)

    @classmethod
    def from_config(
        cls, audio_model: Mapping[str, Any], model: Mapping[str, Any]
    ) -> "ModelSettings":
        """From an entry of the config's `audio.audio_models` and from its `audio.model`.

        Raises ValueError, made to stand behind the entry's key.
        """
        audio = audio_encoder(audio_model)
        try:
            return cls(
                audio=audio,
                segment_seconds=audio_model["segment_seconds"],
                projection=model["projection"],
                temperature=model["temperature"],
                learn_temperature=model["learn_temperature"],
                text_dropout=model["text_dropout"],
                projection_hidden=audio_model.get("projection_hidden", 0),
            )
        except ValueError as error:
            raise ValueError(f": {error}") from error

    def to_table(self) -> dict[str, Any]:
        return {**asdict(self), "audio": to_table(self.audio)}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "ModelSettings":
        values = {**table, "audio": from_table(table["audio"])}
        return cls(**values)


def read_model_table(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """`model.json`: settings, text, about. Raises InputError where `folder` isn't a model."""
    path = Path(folder) / "model.json"
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(table, dict) or not isinstance(table.get("about"), dict):
            raise ValueError(f"{path.name} doesn't tell settings, text and about")
        return table
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{folder}: not a trained model ({error}). A model is a folder with model.json, "
            "model.safetensors and tokenizer.json, such as results/audio/models/*/*/pretrained."
        ) from error
