"""Embeddings of clips and captions, each computed once, in the order in which they were given."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.data.shards import Store
from triptych.audio.embedding_files import Split
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.training.batches import stacked
from triptych.audio.training.corpus import Queries
from triptych.core.device import training_precision
from triptych.core.memory import OomRetry

BATCH_SECONDS = {"cpu": 120.0, "cuda": 1800.0}
"""Audio in one batch: on a CPU what stays in its caches, on a GPU what keeps it busy."""
CAPTIONS = 256
"""Captions in one batch."""

T = TypeVar("T")

ADVICE = "Shorten the clips, choose a smaller model, or set device: cpu."


def embed_split(
    model: RetrievalModel,
    split: Queries,
    store: Store,
    device: torch.device,
    longest_seconds: float,
    precision: str,
) -> Split:
    """Embeddings of all clips (their first `longest_seconds`) and captions of a split, in order."""
    return Split(
        np.array(split.clips, np.str_),
        embed_clips(model, store, split.clips, device, precision, longest_seconds),
        np.array(split.captions, np.str_),
        np.array(split.query_clips, np.str_),
        embed_captions(model, split.captions, device, precision),
    )


def embed_clips(
    model: RetrievalModel,
    store: Store,
    clips: Sequence[str],
    device: torch.device,
    precision: str,
    longest_seconds: float = math.inf,
) -> NDArray[np.float32]:
    """Normalised embeddings [C, D] of clips, of a longer clip only of its first `longest_seconds`.

    The model is left in evaluation mode.
    """
    longest = longest_seconds * SAMPLE_RATE
    frames = [round(min(store.frames(clip), longest)) for clip in clips]
    groups = by_length(frames, round(BATCH_SECONDS[device.type] * SAMPLE_RATE))

    def read(group: Sequence[int]) -> tuple[Tensor, Tensor]:
        return stacked([store.read(clips[index], 0, frames[index]) for index in group])

    def embed(batch: tuple[Tensor, Tensor], part: slice) -> Tensor:
        recordings, lengths = batch[0][part], batch[1][part]
        return model.embed_audio(recordings[:, : int(lengths.max())].to(device), lengths)

    portion = OomRetry(max(map(len, groups), default=0), "clips", ADVICE)
    with _evaluating(model, device, precision):
        return _in_order(groups, read, embed, portion)


def embed_captions(
    model: RetrievalModel, captions: Sequence[str], device: torch.device, precision: str
) -> NDArray[np.float32]:
    """Normalised embeddings [Q, D] of captions. The model is left in evaluation mode."""
    words = [len(caption.split()) for caption in captions]
    order = np.argsort(words, kind="stable").tolist()
    groups = [order[first : first + CAPTIONS] for first in range(0, len(order), CAPTIONS)]

    def read(group: Sequence[int]) -> dict[str, Tensor]:
        return model.text.tokenize([captions[index] for index in group])

    def embed(tokens: dict[str, Tensor], part: slice) -> Tensor:
        return model.embed_text({name: value[part].to(device) for name, value in tokens.items()})

    with _evaluating(model, device, precision):
        return _in_order(groups, read, embed, OomRetry(CAPTIONS, "captions", ADVICE))


def by_length(frames: Sequence[int], room: int) -> list[list[int]]:
    """Indices in groups of similar length; each, padded to its longest, takes at most `room`.

    A single clip that is longer than `room` makes a group of its own.
    """
    groups: list[list[int]] = []
    for index in np.argsort(frames, kind="stable").tolist():
        if groups and (len(groups[-1]) + 1) * frames[index] <= room:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


@contextmanager
def _evaluating(model: RetrievalModel, device: torch.device, precision: str) -> Iterator[None]:
    model.eval()
    with torch.inference_mode(), training_precision(device, precision):
        yield


def _in_order(
    groups: Sequence[Sequence[int]],
    read: Callable[[Sequence[int]], T],
    embed: Callable[[T, slice], Tensor],
    portion: OomRetry,
) -> NDArray[np.float32]:
    """Rows in the order of the indices that `groups` holds; each group goes through the model in
    portions that the memory holds.
    """
    parts = []
    for group in groups:
        parts += portion.run(partial(_portions, partial(embed, read(group)), len(group)))
    embedded = torch.cat(parts).cpu().numpy()
    result = np.empty_like(embedded)
    result[[index for group in groups for index in group]] = embedded
    return result


def _portions(embed: Callable[[slice], Tensor], rows: int, size: int) -> list[Tensor]:
    """A batch's embeddings, `size` rows at a time."""
    return [embed(slice(first, first + size)).float() for first in range(0, rows, size)]
