"""Embeddings of a split, and the figures by which an epoch is chosen."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from triptych.audio.data.shards import Store
from triptych.audio.embedding import embed_captions, embed_clips
from triptych.audio.embedding_files import Split
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.scoring.metrics import columns_of, mean_average_precision, similarities
from triptych.audio.training.corpus import Queries
from triptych.audio.training.losses import nt_xent
from triptych.audio.training.trainer import Validation


def embed_splits(
    model: RetrievalModel,
    splits: Mapping[str, Queries],
    store: Store,
    device: torch.device,
    longest_seconds: float,
    precision: str,
    interrupt: Callable[[], None] = lambda: None,
) -> dict[str, Split]:
    """Embeddings of all clips (their first `longest_seconds`) and captions of some splits, in
    order.
    """
    return {
        name: Split(
            np.array(split.clips, np.str_),
            embed_clips(
                model,
                store,
                split.clips,
                device,
                precision,
                longest_seconds=longest_seconds,
                interrupt=interrupt,
            ),
            np.array(split.captions, np.str_),
            np.array(split.query_clips, np.str_),
            embed_captions(model, split.captions, device, precision, interrupt=interrupt),
        )
        for name, split in splits.items()
    }


def figures(split: Split, temperature: torch.Tensor, batch: int) -> Validation:
    """mAP@10 as published, and the loss of batches like those of the training.

    Each holds `batch` clips in their order, with the first caption of each, then with the second,
    and so on; the incomplete batch at the end is left out unless it is the only one.
    """
    columns = columns_of(split.query_clips.tolist(), split.clips.tolist())
    map_at_10 = mean_average_precision(similarities(split.text, split.audio), columns)
    audio, text = torch.from_numpy(split.audio), torch.from_numpy(split.text)
    losses = [
        nt_xent(audio[columns[rows]], text[rows], temperature.detach().cpu())
        for rows in loss_batches(columns, batch)
    ]
    return Validation(float(torch.stack(losses).mean()), map_at_10)


def loss_batches(columns: NDArray[np.int64], batch: int) -> list[NDArray[np.int64]]:
    """Queries, by their numbers, in batches of distinct clips; columns: the clip of each query."""
    order = np.argsort(columns, kind="stable")
    starts = np.r_[0, np.flatnonzero(np.diff(columns[order])) + 1]
    lengths = np.diff(np.r_[starts, len(order)])
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    rounds = [order[number[order] == n] for n in range(int(number.max()) + 1)]
    return [
        rows
        for queries in rounds
        for rows in np.split(queries, range(batch, len(queries), batch))
        if len(rows) == min(batch, len(queries))
    ]
