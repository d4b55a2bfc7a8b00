"""Seconds of a search in an index of many segments, against NumPy's own float16."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from triptych.audio.search.index import Entry, Index
from triptych.audio.search.query import best_hits

SEGMENTS = (100_000, 1_000_000)
"""At 10 s each, 278 and 2,778 hours."""
DIMENSIONS = 1024
"""Of the published models; a million segments are 2 GB."""
SEGMENT_SECONDS = 10.0
A_FILE = 360
"""Segments of a file: an hour."""
HITS = 10
BLOCK_ROWS = 1 << 14
"""Of the plain side, lest all rows stand in memory as float32 as well."""


def search_seconds(segments: int, rounds: int) -> dict[str, list[float]]:
    """Of "plain" and "ours", measured in turn: the best hits for a query, of random unit vectors.

    Everything lies in memory. Both find the same segment first.
    """
    index, query = made_up(segments)
    sides: dict[str, Callable[[], int]] = {
        "plain": lambda: plain(index.embeddings, query),
        "ours": lambda: best_hits(index, query, HITS)[0].row,
    }
    measured: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, find in sides.items():
            began = time.perf_counter()
            find()
            measured[side].append(time.perf_counter() - began)
    return measured


def plain(embeddings: NDArray[np.float16], query: NDArray[np.float32]) -> int:
    """The best row, as one writes it first: float32 by NumPy, then all scores sorted."""
    blocks = (embeddings[row : row + BLOCK_ROWS] for row in range(0, len(embeddings), BLOCK_ROWS))
    scores = np.concatenate([block.astype(np.float32) @ query for block in blocks])
    return int(np.argsort(-scores, kind="stable")[0])


def made_up(segments: int, dimensions: int = DIMENSIONS) -> tuple[Index, NDArray[np.float32]]:
    """An index of files of an hour, and a query [D] of length one."""
    random = np.random.default_rng(0)
    rows = np.empty((segments, dimensions), np.float16)
    for first in range(0, segments, BLOCK_ROWS):
        block = random.standard_normal((min(BLOCK_ROWS, segments - first), dimensions), np.float32)
        rows[first : first + BLOCK_ROWS] = block / np.linalg.norm(block, axis=1, keepdims=True)
    entries = [
        Entry(f"{first:09}.flac", 0, 0, seconds=len(part) * SEGMENT_SECONDS, embeddings=part)
        for first in range(0, segments, A_FILE)
        for part in [rows[first : first + A_FILE]]
    ]
    query = random.standard_normal(dimensions, np.float32)
    index = Index(Path("/made-up"), "", "", SEGMENT_SECONDS, entries, rows)
    return index, query / np.linalg.norm(query)
