"""An index with its model's text side, and queries to it: texts, sounds, segments of the index."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from triptych.audio.search.index import index_path, read_index
from triptych.audio.search.query import EACH, Hit, best_hits, combined, parts
from triptych.audio.search.text_side import TextSide, says_model, text_folder
from triptych.core.errors import InputError
from triptych.core.files import not_a_file, sha256_of

Vector = NDArray[np.float32]
Weighted = tuple[float, Vector]


class Searcher:
    """What answers queries. The index is read once, its text side when a text is asked for."""

    def __init__(self, given: Path) -> None:
        """given: the index, or the folder that it lies in. Raises InputError."""
        self.path = index_path(given)
        if not self.path.exists():
            raise InputError(f"there is no index {self.path}: make one with triptych index FOLDER")
        self.index = read_index(self.path)

    @cached_property
    def _text_side(self) -> TextSide:
        folder = text_folder(self.path)
        if says_model(folder) != self.index.model_sha256:
            raise InputError(
                f"{folder} does not hold the text side of the index's model: run triptych index "
                f"{self.index.root} again, which writes it"
            )
        return TextSide(folder)

    def texts(self, query: str) -> list[Weighted]:
        """The parts of a query such as "rain + thunder - wind". Raises InputError for none."""
        asked = parts(query)
        if not asked:
            raise InputError("the TEXT is empty: what shall be searched for?")
        return [(weight, self._text_side.text(text)) for weight, text in asked]

    def sound(self, path: Path, embed: Callable[[Path, float], Vector]) -> Weighted:
        """A sound file as a part of a query: the mean over its segments.

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
        return 1.0, combined([(1.0, row) for row in rows])

    def segment(self, row: int) -> Weighted:
        """A segment of the index as a part of a query. Raises InputError for a wrong number."""
        if not 0 <= row < len(self.index.embeddings):
            raise InputError(f"there is no segment {row}: {len(self.index.embeddings)} are indexed")
        return 1.0, np.asarray(self.index.embeddings[row], np.float32)

    def best(self, asked: list[Weighted], count: int, each: int = EACH) -> list[Hit]:
        """The best segments for the parts of a query together. Raises InputError."""
        try:
            return best_hits(self.index, combined(asked), count, each)
        except ValueError as problem:
            raise InputError(f"nothing can be searched for: {problem}") from problem
