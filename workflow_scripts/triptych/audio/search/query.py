"""The best files of an index for a text."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from triptych.audio.search.index import Index, printable


@dataclass(frozen=True)
class Result:
    """A file, and the window of it that fits best: `start` and `end` in seconds.

    `whole`: the file is this one window.
    """

    rank: int
    score: float
    file: str
    start: float
    end: float
    whole: bool


def best_files(index: Index, text: ArrayLike, count: int) -> list[Result]:
    """The files whose best window is most similar to the text, best first.

    text: [D], normalised. Equal scores stand in the order of the paths.
    """
    of_entry, embeddings = index.rows()
    if not len(of_entry):
        return []
    scores = embeddings @ np.asarray(text, dtype=np.float32)
    order = np.argsort(-scores, kind="stable")
    # The first window of each file in that order is its best one.
    _, first = np.unique(of_entry[order], return_index=True)
    chosen = order[np.sort(first)[:count]]
    begins = np.searchsorted(of_entry, of_entry)  # the first row of each row's entry
    results = []
    for rank, row in enumerate(chosen, start=1):
        entry, window = index.entries[of_entry[row]], int(row - begins[row])
        start, seconds = entry.starts[window], entry.seconds[window]
        results.append(
            Result(
                rank=rank,
                score=float(scores[row]),
                file=os.fspath(index.root / entry.path),
                start=start,
                end=start + seconds,
                whole=len(entry.starts) == 1,
            )
        )
    return results


def table(results: list[Result]) -> str:
    """Results as lines for a terminal: rank, score, file from here, and time in long files."""
    lines = ["rank  score  file"]
    for result in results:
        when = "" if result.whole else f"  at {clock(result.start)}-{clock(result.end)}"
        lines.append(f"{result.rank:>4}  {result.score:5.3f}  {_from_here(result.file)}{when}")
    return "\n".join(lines)


def as_records(results: list[Result]) -> list[dict[str, object]]:
    """Results for other programs: rank, score, file, start and end (seconds)."""
    return [
        {
            "rank": result.rank,
            "score": round(result.score, 6),
            "file": result.file,
            "start": round(result.start, 3),
            "end": round(result.end, 3),
        }
        for result in results
    ]


def clock(seconds: float) -> str:
    """90 -> 1:30, 3700 -> 1:01:40"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _from_here(file: str) -> str:
    here = Path.cwd()
    path = Path(file)
    return printable(os.fspath(path.relative_to(here) if path.is_relative_to(here) else path))
