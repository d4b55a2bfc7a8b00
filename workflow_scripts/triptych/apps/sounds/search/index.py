"""The index of a folder of sounds: an embedding of each segment of each file, in one .npz file.

Beside it lies the model's text side (`trained.py`). No pickles. Embeddings are float16.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triptych.core.errors import InputError
from triptych.core.files import atomic_path

NAME = "triptych-index.npz"
"""The index of a folder, in that folder, unless another place is given."""
VERSION = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A file and its segments.

    path: below the indexed folder, with /; size, modified_ns: as the file system tells;
    sha256: of the content ("" where not all was read); problem: why not all could be read, or "";
    seconds: of sound, up to the end of the last segment; embeddings: float16 [S, D].
    """

    path: str
    size: int
    modified_ns: int
    sha256: str = ""
    problem: str = ""
    seconds: float = 0.0
    embeddings: NDArray[np.float16] = field(default_factory=lambda: np.zeros((0, 0), np.float16))


@dataclass(frozen=True)
class Index:
    """Entries by path, and the model (folder and SHA-256 of its weights) that embedded them.

    segment_seconds: what the model hears at once
    """

    root: Path
    model: str
    model_sha256: str
    segment_seconds: float
    entries: Sequence[Entry]

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """Number of each entry's first segment among all, and how many there are: [F + 1]."""
        return np.cumsum([0, *(len(entry.embeddings) for entry in self.entries)])

    @cached_property
    def embeddings(self) -> NDArray[np.float16]:
        """Embeddings of all segments: [R, D]."""
        parts = [entry.embeddings for entry in self.entries if len(entry.embeddings)]
        return np.concatenate(parts) if parts else np.zeros((0, 0), np.float16)

    def segment(self, row: int) -> tuple[Entry, float, float]:
        """The entry of a segment, and its start and end in seconds; the last ends with the file."""
        owner = int(np.searchsorted(self.firsts, row, side="right")) - 1
        entry, length = self.entries[owner], self.segment_seconds
        number = row - int(self.firsts[owner])
        start = max(0.0, min(number * length, entry.seconds - length))
        return entry, start, min(start + length, entry.seconds)

    @property
    def problems(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.problem]


def index_path(path_or_folder: str | os.PathLike[str]) -> Path:
    """The index's file, where a folder stands for the index in it."""
    path = Path(path_or_folder)
    return path / NAME if path.is_dir() else path


def write_index(index: Index, path: str | os.PathLike[str]) -> None:
    """Write the index, a file *.npz."""
    target = Path(path)
    root, home = index.root.resolve(), target.absolute().parent.resolve()
    inside = home.is_relative_to(root)  # then both may be moved
    record = {
        "version": VERSION,
        "root": os.path.relpath(root, home) if inside else os.fspath(root),
        "model": index.model,
        "model_sha256": index.model_sha256,
        "segment_seconds": index.segment_seconds,
        "files": [
            [e.path, e.size, e.modified_ns, e.sha256, e.problem, e.seconds, len(e.embeddings)]
            for e in index.entries
        ],
    }
    text = json.dumps(record).encode("ascii")  # names that are not Unicode survive as \udcXX
    with atomic_path(target) as temporary, temporary.open("wb") as stream:
        np.savez(stream, record=np.frombuffer(text, np.uint8), embeddings=index.embeddings)


def read_index(path: str | os.PathLike[str]) -> Index:
    """Read an index. Raises InputError for a file that is none, FileNotFoundError for no file."""
    source = Path(path)
    try:
        with np.load(source, allow_pickle=False) as stored:
            record, embeddings = json.loads(stored["record"].tobytes()), stored["embeddings"]
        if record["version"] != VERSION:
            raise ValueError(f"its layout is {record['version']!r}, this version's {VERSION}")
        return Index(
            root=(source.absolute().parent / record["root"]).resolve(),
            model=record["model"],
            model_sha256=record["model_sha256"],
            segment_seconds=record["segment_seconds"],
            entries=_entries(record["files"], embeddings),
        )
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy and zipfile raise many kinds for a damaged file
        raise InputError(
            f"{source} is not an index that this version of triptych index wrote, or is damaged: "
            "run triptych index FOLDER --rebuild"
        ) from error


def _entries(files: list[list[Any]], embeddings: NDArray[np.float16]) -> list[Entry]:
    entries, row = [], 0
    for path, size, modified_ns, sha256, problem, seconds, segments in files:
        rows = embeddings[row : row + segments]
        entries.append(
            Entry(path, size, modified_ns, sha256, problem, seconds=seconds, embeddings=rows)
        )
        row += segments
    if row != len(embeddings):
        raise ValueError(f"{len(embeddings)} embeddings of {row} segments")
    return entries
