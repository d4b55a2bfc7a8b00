"""The part of a model that learns a person's recordings: its last blocks and its projections.

What the blocks before give of a segment or a caption never changes, as long as nothing is drawn
by chance before them: so neither patchout, masks nor dropout there. It is computed once, a segment
or a caption at a time, so that it is a function of that alone, and kept in a file.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from triptych.audio.models.audio_encoders import MELS
from triptych.audio.models.retrieval import (
    Draws,
    RetrievalModel,
    segments_with_audio,
    unit_vectors,
)
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.provenance import parameters_digest


@runtime_checkable
class Blocks(Protocol):
    """An encoder whose first blocks can be computed apart from the others."""

    @property
    def depth(self) -> int:
        """How many blocks there are."""

    def lower(self, *inputs: Any) -> Tensor:
        """What the first blocks make of the encoder's input; the last argument says how many."""

    def upper(self, *inputs: Any) -> Tensor:
        """What the other blocks make of that."""

    def upper_modules(self, blocks: int) -> list[nn.Module]:
        """What computes behind the first `blocks` blocks."""


def has_blocks(model: RetrievalModel) -> bool:
    """Whether both encoders have blocks of which the last can be trained."""
    return isinstance(model.audio, Blocks) and isinstance(model.text.model, Blocks)


def _with_blocks(encoder: nn.Module) -> Blocks:
    if isinstance(encoder, Blocks):
        return encoder
    raise InputError(
        f"this model's {type(encoder).__name__} has no blocks of which the last could be trained: "
        "give --blocks all, which trains the whole model"
    )


NAMES = ("input_ids", "attention_mask")
"""What a tokenizer gives."""


class Kept:
    """A folder of arrays, each in a file by what it depends on.

    made_by: what all of them depend on
    """

    def __init__(self, folder: Path, made_by: Mapping[str, Any]) -> None:
        self._folder, self._made_by = folder, dict(made_by)

    def file(self, of: Any, make: Callable[[], Tensor]) -> Path:
        """The file of the array that `make` makes of something, which is made where it is not."""
        path = self._folder / f"{parameters_digest({'by': self._made_by, 'of': of})}.npy"
        if not path.exists():
            array = make().float().cpu().numpy()
            with atomic_path(path) as temporary:
                np.save(temporary, array)
        return path


class KeptSounds:
    """Files of what the frozen part gave of recordings, as a store of clips by their names."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def frames(self, clip: str) -> int:
        """How many numbers a recording has."""
        return int(np.load(self._files[clip], mmap_mode="r").size)

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> NDArray[np.float32]:
        """A recording's numbers in a row."""
        row = np.load(self._files[clip]).reshape(-1)
        return np.asarray(row[start : None if frames is None else start + frames], np.float32)


class KeptCaptions:
    """Files of what the frozen part gave of captions, in a tokenizer's place."""

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}

    def tokenize(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`tokens` [captions, tokens, width] and `mask` [captions, tokens], 0 for padding."""
        arrays = [torch.from_numpy(np.load(self.files[caption])) for caption in captions]
        ones = [torch.ones(len(array), dtype=torch.long) for array in arrays]
        return {
            "tokens": nn.utils.rnn.pad_sequence(arrays, batch_first=True),
            "mask": nn.utils.rnn.pad_sequence(ones, batch_first=True),
        }


class LastBlocks(nn.Module):
    """The last blocks of both encoders of a `RetrievalModel`, and its projections.

    Its tensors are the model's own, and none of the frozen part's are among them. What that part
    gives, `hear` and `read`, is what `embed_audio` and `embed_text` take.
    """

    def __init__(self, model: RetrievalModel, blocks: int) -> None:
        """blocks: of either encoder, or as many as it has.

        Raises InputError for encoders without blocks.
        """
        super().__init__()
        audio, text = _with_blocks(model.audio), _with_blocks(model.text.model)
        # In tuples, or the frozen part would be this module's own.
        self._model, self._encoders = (model,), (audio, text)
        self._first = max(0, audio.depth - blocks), max(0, text.depth - blocks)
        self.audio = nn.ModuleList(audio.upper_modules(self._first[0]))
        self.sentence = nn.ModuleList(text.upper_modules(self._first[1]))
        self.project_audio, self.project_sentence = model.project_audio, model.project_sentence
        self.temperature = model.temperature
        self.text = KeptCaptions()
        model.eval().requires_grad_(False)
        self.requires_grad_(True)
        self.temperature.requires_grad_(model.settings.learn_temperature)
        silence = torch.zeros(1, 1, MELS, model.settings.segment_frames)
        with torch.inference_mode():
            device = self.temperature.device
            self._shape = audio.lower(silence.to(device), self._first[0]).shape[1:]

    def hear(self, waveform: Tensor) -> Tensor:
        """A recording [samples] to what the frozen blocks give of each segment, [segments, ...]."""
        (model,) = self._model
        segments, _ = segments_with_audio(
            waveform[None], [len(waveform)], model.settings.segment_samples
        )
        audio, _ = self._encoders
        return torch.cat([audio.lower(model.mel(one[None]), self._first[0]) for one in segments])

    def read(self, caption: str) -> Tensor:
        """A caption to what the frozen layers give of its tokens, [tokens, width]."""
        (model,) = self._model
        tokens = model.text.tokenize([caption])
        ids, mask = (tokens[name].to(self.temperature.device) for name in NAMES)
        return self._encoders[1].lower(ids, mask, self._first[1])[0]

    def embed_audio(
        self, waveforms: Tensor, lengths: Tensor | Sequence[int], draws: Draws | None = None
    ) -> Tensor:
        """Unit vectors [B, D] of recordings; waveforms: what `hear` gave of each, in a row.

        Nothing is drawn.
        """
        (model,) = self._model
        size = self._shape.numel()
        counts = [int(length) // size for length in lengths]
        rows = [row[: n * size] for row, n in zip(waveforms, counts, strict=True)]
        segments = torch.cat(rows).view(-1, *self._shape)
        owners = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
        embedded = self._encoders[0].upper(segments, self._first[0])
        return model.joined(embedded, owners.to(segments.device), len(counts))

    def embed_text(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """What `text.tokenize` gave to unit vectors [captions, projection]."""
        device = self.temperature.device
        inputs, mask = tokens["tokens"].to(device), tokens["mask"].to(device)
        embedded = self._encoders[1].upper(inputs, mask, self._first[1])
        return unit_vectors(self.project_sentence(embedded))
