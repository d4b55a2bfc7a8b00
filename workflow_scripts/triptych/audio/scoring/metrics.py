"""Retrieval metrics from a score matrix, in numpy.

A score matrix is [queries, clips]: how well each clip fits each query, larger is better. Clips of
equal score stand in the order of the matrix' columns, everywhere: in ranks, in lists of the best
and in what is submitted. A model without any opinion so gets the scores of chance, since the true
clips then stand at every rank equally often.

All functions return one value a query; the metric is their mean (`intervals.ClusterResamples`
gives it with its uncertainty).
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
    """For each query the column [Q] of its true clip.

    Raises ValueError for a clip that is listed twice or that a query has and the list has not.
    """
    column = {str(clip): index for index, clip in enumerate(clips)}
    if len(column) < len(clips):
        raise ValueError("a clip stands twice in the list of clips to be ranked")
    missing = [str(clip) for clip in query_clips if str(clip) not in column]
    if missing:
        raise ValueError(
            f"{len(missing)} queries belong to clips that are not ranked, first {missing[0]!r}"
        )
    return np.array([column[str(clip)] for clip in query_clips], dtype=np.int64)


def ranks(scores: ArrayLike, columns: ArrayLike) -> Integers:
    """Rank [Q], from 1, of the true clip of each query.

    scores: [Q, C]; columns: [Q] of the true clips.
    """
    matrix, true = _checked(scores, columns)
    own = np.take_along_axis(matrix, true[:, None], axis=1)
    earlier = np.arange(matrix.shape[1]) < true[:, None]
    return 1 + (matrix > own).sum(axis=1) + ((matrix == own) & earlier).sum(axis=1)


def best_columns(scores: ArrayLike, count: int) -> Integers:
    """Columns [Q, count] of the best clips of each query, best first."""
    matrix = _matrix(scores)
    if not 1 <= count <= matrix.shape[1]:
        raise ValueError(f"the best {count} of {matrix.shape[1]} clips were asked for")
    return np.argsort(-matrix, axis=1, kind="stable")[:, :count]


def reciprocal_ranks(of_ranks: ArrayLike, cutoff: int = 10) -> Floats:
    """1 / rank up to the cutoff, 0 beyond: average precision with a single relevant clip.

    Its mean is the challenge's mAP@10.
    """
    rank = np.asarray(of_ranks, dtype=np.float64)
    return np.where(rank <= cutoff, 1 / rank, 0.0)


def hits(of_ranks: ArrayLike, cutoff: int) -> Floats:
    """1 where the true clip is among the first `cutoff`, else 0; the mean is recall, R@cutoff."""
    return (np.asarray(of_ranks) <= cutoff).astype(np.float64)


def average_precisions(scores: ArrayLike, relevant: ArrayLike, cutoff: int) -> Floats:
    """Average precision [Q] of the first `cutoff` clips with several relevant clips a query.

    The sum of the precisions at each relevant clip found, over the number of all relevant clips
    (as the baseline of the challenge's organisers computes it, xieh97/dcase2023-audio-retrieval).
    scores: [Q, C]; relevant: [Q, C] bool, at least one a query (ValueError).
    """
    matrix, wanted = _matrix(scores), np.asarray(relevant, dtype=bool)
    if wanted.shape != matrix.shape:
        raise ValueError(f"relevant: shape {matrix.shape} expected, got {wanted.shape}")
    if not wanted.any(axis=1).all():
        raise ValueError(f"query {np.argmin(wanted.any(axis=1))} has no relevant clip")
    order = best_columns(matrix, min(cutoff, matrix.shape[1]))
    found = np.take_along_axis(wanted, order, axis=1)
    precision = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
    return (precision * found).sum(axis=1) / wanted.sum(axis=1)


def order_preferences(scores: ArrayLike, columns: ArrayLike, partners: ArrayLike) -> Floats:
    """1 where a query scores its clip above that clip's partner, 1/2 where both the same, else 0.

    The partner holds the same two events in the other order. columns, partners: [Q].
    """
    matrix, true = _checked(scores, columns)
    _, other = _checked(scores, partners)
    rows = np.arange(len(matrix))
    difference = matrix[rows, true] - matrix[rows, other]
    return (np.sign(difference) + 1) / 2


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
    if not 1 <= relevant <= clips:
        raise ValueError(f"{relevant} relevant clips of {clips} are not possible")
    position = np.arange(1, min(cutoff, clips) + 1)
    before = (position - 1) * (relevant - 1) / max(1, clips - 1)
    return float(((1 + before) / position).sum() / clips)


def _matrix(scores: ArrayLike) -> Floats:
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"scores: [queries, clips] expected, got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("scores: some are not finite")
    return matrix


def _checked(scores: ArrayLike, columns: ArrayLike) -> tuple[Floats, Integers]:
    matrix, of_clips = _matrix(scores), np.asarray(columns, dtype=np.int64)
    if of_clips.shape != matrix.shape[:1]:
        raise ValueError(f"columns: one a query expected, {len(matrix)}, got {of_clips.shape}")
    if of_clips.min() < 0 or of_clips.max() >= matrix.shape[1]:
        raise ValueError(f"columns: 0 to {matrix.shape[1] - 1} expected")
    return matrix, of_clips
