"""The best segments of an index for a query."""

import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from triptych.apps.sounds.search.index import Index, index_path, read_index
from triptych.apps.sounds.search.trained import TextSide, caution, digest_of_model, text_folder
from triptych.core.errors import InputError, printable
from triptych.core.files import not_a_file, sha256_of

PER_FILE = 3
"""Segments of a file that are hits, where nobody asks for more."""
BLOCK_ROWS = 256
"""Rows that are widened to float32 at a time: 1 MB at 1024 dimensions."""


@dataclass(frozen=True)
class Hit:
    """A segment of a file that fits: `start` and `end` in seconds; row: its number in the index.

    `segments`: how many the file has.
    """

    rank: int
    score: float
    file: str
    start: float
    end: float
    segments: int
    row: int


def similarities(embeddings: NDArray[np.float16], query: ArrayLike) -> NDArray[np.float32]:
    """Cosine similarities [R] of all rows [R, D], unit vectors, with a query [D], in float32."""
    vector, scores = np.asarray(query, np.float32), np.empty(len(embeddings), np.float32)
    for first in range(0, len(embeddings), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        np.dot(embeddings[rows].astype(np.float32), vector, out=scores[rows])
    return scores


def best_hits(index: Index, query: ArrayLike, count: int, each: int = PER_FILE) -> list[Hit]:
    """The segments that are most similar to a query, best first, `each` of one file at most.

    query: [D], of length one. Of two segments of a file that touch only the better one is a hit;
    copies of a file are one.
    """
    if not len(index.embeddings):
        return []
    scores = similarities(index.embeddings, query)
    hits: list[Hit] = []
    taken: dict[str, list[float]] = {}
    for row in np.argsort(-scores, kind="stable").tolist():
        entry, start, end = index.segment(row)
        before = taken.setdefault(entry.sha256 or entry.path, [])
        near = index.segment_seconds + 1e-6
        if len(before) >= each or any(abs(start - other) <= near for other in before):
            continue
        before.append(start)
        hits.append(
            Hit(
                rank=len(hits) + 1,
                score=float(scores[row]),
                file=os.fspath(index.root / entry.path),
                start=start,
                end=end,
                segments=len(entry.embeddings),
                row=row,
            )
        )
        if len(hits) == count:
            break
    return hits


def table(hits: list[Hit]) -> str:
    """Hits as lines for a terminal: rank, score, file from here, and time in long files."""
    lines = ["rank  score  file"]
    for hit in hits:
        when = "" if hit.segments == 1 else f"  {clock(hit.start)} to {clock(hit.end)}"
        lines.append(f"{hit.rank:>4}  {hit.score:5.3f}  {_from_here(hit.file)}{when}")
    return "\n".join(lines)


def _from_here(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return printable(str(path.relative_to(here) if path.is_relative_to(here) else path))


def partly_shown(hits: Sequence[Hit], each: int = PER_FILE) -> list[str]:
    """A line for every file with `each` hits and more segments: how many of them are shown."""
    return [
        f"{_from_here(file)}: {shown} of {segments} segments shown"
        for (file, segments), shown in Counter((hit.file, hit.segments) for hit in hits).items()
        if each <= shown < segments
    ]


def as_records(found: Mapping[str, Sequence[Hit]]) -> list[dict[str, object]]:
    """Hits by query for other programs: query, rank, score, file, start and end (seconds)."""
    return [
        {
            "query": query,
            "rank": hit.rank,
            "score": round(hit.score, 4),
            "file": hit.file,
            "start": round(hit.start, 3),
            "end": round(hit.end, 3),
        }
        for query, hits in found.items()
        for hit in hits
    ]


FIELDS = ("query", "rank", "score", "file", "start", "end")


def as_csv(found: Mapping[str, Sequence[Hit]]) -> str:
    """`as_records` as a CSV table; bytes of names that are no text are escaped."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_records(found))
    return text.getvalue().rstrip("\n").encode(errors="backslashreplace").decode()


def write_labels(index: Index, found: Mapping[str, Sequence[Hit]], folder: Path) -> int:
    """Write hits as label tracks of Audacity into a new folder; return the number of files.

    Of each recording with hits there is a text file, named by its path below the indexed folder,
    with a line for each hit: start and end in seconds, and the query, between tabs.
    """
    labels: dict[str, list[tuple[float, float, str]]] = {}
    for query, hits in found.items():
        text = printable(" ".join(query.split()))
        for hit in hits:
            path = index.segment(hit.row)[0].path
            labels.setdefault(path, []).append((hit.start, hit.end, text))
    folder.mkdir(parents=True)
    for path, rows in labels.items():
        file = folder / f"{path}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"{start:.6f}\t{end:.6f}\t{text}\n" for start, end, text in sorted(rows))
        file.write_text("".join(lines), encoding="utf-8")
    return len(labels)


def read_queries(path: Path) -> list[str]:
    """The queries of a text file, one a line. Raises InputError for none."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise InputError(f"--queries {path}: there is no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--queries {path}: {error}") from error
    if not (queries := [line.strip() for line in lines if line.strip()]):
        raise InputError(f"--queries {path}: holds none; expected one a line")
    return queries


def clock(seconds: float) -> str:
    """90 -> 00:01:30, 3700 -> 01:01:40"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}"


Vector = NDArray[np.float32]


class Searcher:
    """Answers queries to an index, whose text side is read at the first text."""

    def __init__(self, place: Path) -> None:
        """place: the index, or the folder that it lies in. Raises InputError."""
        self.path = index_path(place)
        if not self.path.exists():
            others = list(place.glob("*.npz"))
            other = f"give --index {others[0]}, or " if len(others) == 1 else ""
            raise InputError(
                f"there is no index {self.path}: {other}make one with triptych index FOLDER"
            )
        self.index = read_index(self.path)
        self.caution = caution(Path(self.index.model))

    @cached_property
    def _text_side(self) -> TextSide:
        folder = text_folder(self.path)
        if digest_of_model(folder) != self.index.model_sha256:
            raise InputError(
                f"{folder} does not hold the text side of the index's model: run triptych index "
                f"{self.index.root} again, which writes it"
            )
        return TextSide(folder)

    def text(self, query: str) -> Vector:
        """The embedding [D] of a text. Raises InputError for none."""
        if not query.strip():
            raise InputError("the TEXT is empty: what shall be searched for?")
        if not any(letter.isalnum() for letter in query):
            raise InputError(f"the TEXT {printable(query)!r} holds no word to be searched for")
        return self._text_side.text(query)

    def doubt(self, query: str) -> str:
        """A remark on a text that may not be English, else ""."""
        if not self._text_side.may_be_foreign(query):
            return ""
        return f"The model reads only English, which {printable(query)!r} may not be."

    def sound(self, path: Path, embed: Callable[[Path, float], Vector]) -> Vector:
        """The embedding [D] of a sound file: the mean over its segments, of length one.

        embed: makes embeddings [S, D] of a file's segments of so many seconds; not asked for a
        file that is in the index. Raises InputError for what can't be read.
        """
        if odd := not_a_file(path):
            raise InputError(f"{path}: {odd}")
        if not path.is_file():
            raise InputError(f"{path}: there is no such file")
        digest = sha256_of(path)
        known = [entry.embeddings for entry in self.index.entries if entry.sha256 == digest]
        rows = known[0].astype(np.float32) if known else embed(path, self.index.segment_seconds)
        mean = rows.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    def segment(self, row: int) -> Vector:
        """The embedding [D] of a segment of the index. Raises InputError for a wrong number."""
        if not 0 <= row < len(self.index.embeddings):
            raise InputError(f"there is no segment {row}: {len(self.index.embeddings)} are indexed")
        return np.asarray(self.index.embeddings[row], np.float32)
