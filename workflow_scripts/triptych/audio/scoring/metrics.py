"""Retrieval metrics from a score matrix [queries, clips]; larger is better.

Clips of equal score stand in the order of the columns, so that a model without any opinion gets the
scores of chance. All functions return one value a query; the metric is their mean.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def similarities(text: ArrayLike, audio: ArrayLike) -> Floats:
    """Cosine similarities [Q, C] of normalised embeddings, text [Q, D] and audio [C, D]."""
    return np.asarray(text, dtype=np.float64) @ np.asarray(audio, dtype=np.float64).T


def columns_of(query_clips: Sequence[str], clips: Sequence[str]) -> Integers:
    """The column [Q] of each query's true clip."""
    column = {str(clip): index for index, clip in enumerate(clips)}
    return np.array([column[str(clip)] for clip in query_clips], dtype=np.int64)


def ranks(scores: ArrayLike, columns: ArrayLike) -> Integers:
    """Rank [Q], from 1, of each query's true clip. scores: [Q, C]; columns: [Q] of these clips."""
    matrix, true = _matrix(scores), np.asarray(columns, dtype=np.int64)
    true_scores = np.take_along_axis(matrix, true[:, None], axis=1)
    earlier = np.arange(matrix.shape[1]) < true[:, None]
    return 1 + (matrix > true_scores).sum(axis=1) + ((matrix == true_scores) & earlier).sum(axis=1)


def best_columns(scores: ArrayLike, count: int) -> Integers:
    """Columns [Q, count] of the best clips of each query, best first."""
    return np.argsort(-_matrix(scores), axis=1, kind="stable")[:, :count]


def reciprocal_ranks(of_ranks: ArrayLike, cutoff: int = 10) -> Floats:
    """1 / rank up to the cutoff, 0 beyond; the mean is the challenge's mAP@10."""
    rank = np.asarray(of_ranks, dtype=np.float64)
    return np.where(rank <= cutoff, 1 / rank, 0.0)


def hits(of_ranks: ArrayLike, cutoff: int) -> Floats:
    """1 where the true clip is among the first `cutoff`, else 0; the mean is recall, R@cutoff."""
    return (np.asarray(of_ranks) <= cutoff).astype(np.float64)


def average_precisions(scores: ArrayLike, relevant: ArrayLike, cutoff: int) -> Floats:
    """Average precision [Q] of the first `cutoff` clips, as the challenge's baseline computes it.

    The sum of the precisions at each relevant clip found, over the number of all relevant clips.
    scores: [Q, C]; relevant: [Q, C] bool, at least one a query.
    """
    right = np.asarray(relevant, dtype=bool)
    order = best_columns(scores, cutoff)
    hit = np.take_along_axis(right, order, axis=1)
    precision = np.cumsum(hit, axis=1) / np.arange(1, hit.shape[1] + 1)
    return (precision * hit).sum(axis=1) / right.sum(axis=1)


def mean_average_precision(scores: ArrayLike, columns: ArrayLike) -> float:
    """mAP@10 with the single true clip of each query: what models are selected by."""
    return float(reciprocal_ranks(ranks(scores, columns)).mean())


def chance_recall(clips: int, cutoff: int) -> float:
    """Expected R@cutoff of a random order of `clips` clips."""
    return min(cutoff, clips) / clips


def chance_average_precision(clips: int, cutoff: int, relevant: int = 1) -> float:
    """Expected average precision of a random order, `relevant` of `clips` clips being relevant.

    Position k holds a relevant clip with probability R/C, and each of the k-1 before it then with
    (R-1)/(C-1), so that E[AP] = 1/C sum_k (1 + (k-1)(R-1)/(C-1)) / k.
    """
    position = np.arange(1, min(cutoff, clips) + 1)
    before = (position - 1) * (relevant - 1) / max(1, clips - 1)
    return float(((1 + before) / position).sum() / clips)


def _matrix(scores: ArrayLike) -> Floats:
    matrix = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("scores: some are not finite")
    return matrix
