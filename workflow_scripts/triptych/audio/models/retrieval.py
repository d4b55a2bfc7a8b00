"""The joint model: recordings and captions to unit vectors of one space (report, Section 2).

Its folder needs nothing else: `model.safetensors` holds the weights, `tokenizer.json` the
tokenizer, and `model.json`, written last, the settings, the text side's configuration and notes of
its maker.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from triptych.audio.models.mel import Band, LogMel, Masks, draw_band, draw_masks
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings, read_model_table
from triptych.audio.models.text_files import read_tokenizer
from triptych.audio.training.settings import TrainingSettings
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.weights import save_weights


@dataclass(frozen=True)
class Augmentation:
    """One training step's random decisions on the audio side, the same for its whole batch."""

    band: Band | None = None
    masks: Masks | None = None
    patchout: Any = None  # drawn by the audio encoder's settings


def draw_augmentation(
    settings: ModelSettings, training: TrainingSettings, generator: torch.Generator
) -> Augmentation:
    """Decide for one step; `generator` lives on the CPU."""
    band, masks, patchout = None, None, None
    if training.band_jitter:
        band = draw_band(generator)
    widest = (training.frequency_mask, training.time_mask)
    if any(widest):
        masks = draw_masks(settings.segment_frames, widest, generator)
    if training.patchout:
        patchout = settings.audio.draw(settings.segment_frames, generator)
    return Augmentation(band, masks, patchout)


def segments_with_audio(
    waveforms: Tensor, lengths: Sequence[int], samples: int
) -> tuple[Tensor, Tensor]:
    """Cut recordings into segments of `samples` and leave out those that are padding alone.

    waveforms: [B, longest]; lengths: how many samples of each are real. Returns all segments in
    order, [M, samples], the last of each recording filled up with zeros, and the recording that
    each belongs to, [M].
    """
    counts = [-(-length // samples) for length in lengths]
    segments = waveforms.new_zeros(sum(counts), samples)
    first = 0
    for waveform, length, count in zip(waveforms, lengths, counts, strict=True):
        segments[first : first + count].view(-1)[:length] = waveform[:length]
        first += count
    return segments, segment_owners(counts).to(waveforms.device)


def segment_owners(counts: Sequence[int]) -> Tensor:
    """The recording of each segment, [M], if recordings have so many segments."""
    return torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))


class RetrievalModel(nn.Module):
    """An audio and a sentence encoder, each with a linear map into the shared space (Section 2.3),
    or with a layer of `projection_hidden` units and its ReLU before it. `temperature`: [1], what
    similarities are divided by before a softmax; its sign means nothing.
    """

    def __init__(self, settings: ModelSettings, audio: nn.Module, text: SentenceEncoder) -> None:
        super().__init__()
        self.settings = settings
        self.mel = LogMel()
        self.audio = audio
        self.text = text
        hidden = text.config["hidden_size"]
        self.project_audio = _projection(settings.audio.dim, settings)
        self.project_sentence = _projection(hidden, settings)
        self.temperature = nn.Parameter(
            torch.full((1,), settings.temperature), requires_grad=settings.learn_temperature
        )

    def embed_audio(
        self, recordings: Tensor, lengths: Tensor | Sequence[int], draws: Augmentation | None = None
    ) -> Tensor:
        """Recordings to unit vectors [B, projection], float32: of the mean over a recording's
        segments.

        recordings: waveforms [B, longest] at 32 kHz in [-1, 1], or their segments' log-mel
        spectrograms [B, most, MELS, frames], for which `draws` has no band; lengths: samples or
        segments of each that are real (best on the CPU). draws: of a training step; None in
        evaluation.
        """
        draws = draws or Augmentation()
        counted = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
        if recordings.ndim == 2:
            segments, owners = segments_with_audio(
                recordings, counted, self.settings.segment_samples
            )
            logarithm = self.mel.logarithm(segments, draws.band)
        else:
            logarithm = torch.cat(
                [own[:count] for own, count in zip(recordings, counted, strict=True)]
            )
            owners = segment_owners(counted).to(recordings.device)
        mel = self.mel.normalised(logarithm, draws.masks)
        embedded = self.audio(mel) if draws.patchout is None else self.audio(mel, draws.patchout)
        embedded = embedded.float()
        sums = embedded.new_zeros(len(counted), embedded.shape[1]).index_add(0, owners, embedded)
        counts = torch.bincount(owners, minlength=len(counted))
        return unit_vectors(self.project_audio(sums / counts[:, None]))

    def embed_text(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Tokens (`text.tokenize`) to unit vectors [captions, projection], float32."""
        return unit_vectors(self.project_sentence(self.text(tokens)))


def _projection(width: int, settings: ModelSettings) -> nn.Sequential:
    if not settings.projection_hidden:
        return nn.Sequential(nn.Linear(width, settings.projection))
    return nn.Sequential(
        nn.Linear(width, settings.projection_hidden),
        nn.ReLU(),
        nn.Linear(settings.projection_hidden, settings.projection),
    )


def unit_vectors(vectors: Tensor) -> Tensor:
    """Rows of length one, float32."""
    return functional.normalize(vectors.float(), dim=1)


StrPath = str | os.PathLike[str]


def build_model(
    settings: ModelSettings, text_folder: StrPath, audio_weights: StrPath | None, seed: int
) -> RetrievalModel:
    """A model at the start of its training, on the CPU.

    text_folder: a text model; audio_weights: published weights of its audio encoder, or None. The
    other weights are a function of `seed`. Raises InputError for files that don't fit.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        text = SentenceEncoder.from_folder(text_folder, settings.text_dropout)
        model = RetrievalModel(settings, settings.audio.network(), text)
    if audio_weights is not None:
        settings.audio.load(model.audio, audio_weights)
    return model


def save_model(
    model: RetrievalModel, folder: StrPath, about: dict[str, Any], half: bool = False
) -> None:
    """Write a model into `folder`; about: whatever JSON holds; half: in half precision."""
    folder = Path(folder)
    save_weights(model, folder / "model.safetensors", half)
    with atomic_path(folder / "tokenizer.json") as temporary:
        model.text.tokenizer.save(str(temporary), pretty=False)
    table = {"settings": model.settings.to_table(), "text": model.text.config, "about": about}
    with atomic_path(folder / "model.json") as temporary:
        temporary.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load_model(folder: StrPath, device: torch.device | str = "cpu") -> RetrievalModel:
    """The model in a folder, in evaluation mode. Raises InputError if it is none."""
    folder = Path(folder)
    table = read_model_table(folder)
    try:
        settings = ModelSettings.from_table(table["settings"])
        with torch.random.fork_rng(devices=[]):
            text = SentenceEncoder(table["text"], read_tokenizer(folder), settings.text_dropout)
            with torch.device("meta"):  # its weights come from the file
                audio = settings.audio.network()
            model = RetrievalModel(settings, audio, text)
        state = load_file(folder / "model.safetensors")
        state = {k: v.float() if v.dtype == torch.float16 else v for k, v in state.items()}
        model.load_state_dict(state, assign=True)
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder}: its files don't belong together or come from another version of this "
            f"project ({type(error).__name__}: {error}). Make the model again."
        ) from error
    return model.to(device).eval()
