"""The index of a folder of sounds: an embedding of each window of each file, in one .npz file.

Beside it lies a listing of the same name, .csv, for people. No pickles.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv

NAME = "triptych-index.npz"
"""The index of a folder, in that folder, unless another place is given."""
VERSION = 1


@dataclass(frozen=True)
class Entry:
    """A file and its windows.

    path: below the indexed folder, with /; size, modified_ns: as the file system tells;
    sha256: of the content ("" where unread); problem: why it could not be read, or "";
    starts, seconds: [W] of each window; embeddings: float32 [W, D].
    """

    path: str
    size: int
    modified_ns: int
    sha256: str = ""
    problem: str = ""
    starts: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    embeddings: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    @property
    def length(self) -> float:
        """Seconds of sound."""
        return self.starts[-1] + self.seconds[-1] if self.starts else 0.0


@dataclass(frozen=True)
class Index:
    """Entries by path, and the model (folder and SHA-256 of its weights) that embedded them."""

    root: Path
    model: str
    model_sha256: str
    entries: Sequence[Entry]

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """All windows: the number of each one's entry [R], and embeddings [R, D]."""
        counts = [len(entry.starts) for entry in self.entries]
        parts = [entry.embeddings for entry in self.entries if len(entry.starts)]
        embeddings = np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)
        return np.repeat(np.arange(len(counts)), counts), embeddings

    @property
    def problems(self) -> list[Entry]:
        """The files that could not be read."""
        return [entry for entry in self.entries if entry.problem]


def index_path(given: str | os.PathLike[str]) -> Path:
    """The index's file, where a folder stands for the index in it."""
    path = Path(given)
    return path / NAME if path.is_dir() else path


def write_index(index: Index, path: str | os.PathLike[str]) -> None:
    """Write the index and its listing. Raises InputError for a name that is not *.npz."""
    target = Path(path)
    if target.suffix != ".npz":
        raise InputError(f"{target}: an index is a file *.npz; the listing beside it is *.csv")
    record = {
        "version": VERSION,
        "root": _stored_root(index.root, target),
        "model": index.model,
        "model_sha256": index.model_sha256,
        "files": [
            [e.path, e.size, e.modified_ns, e.sha256, e.problem, e.starts, e.seconds]
            for e in index.entries
        ],
    }
    text = json.dumps(record).encode("ascii")  # names that are not Unicode survive as \udcXX
    _, embeddings = index.rows()
    with atomic_path(target) as temporary:
        np.savez(temporary, record=np.frombuffer(text, np.uint8), embeddings=embeddings)
    write_csv(_listing(index), target.with_suffix(".csv"))


def read_index(path: str | os.PathLike[str]) -> Index:
    """Read an index. Raises InputError for a file that is none, FileNotFoundError for no file."""
    source = Path(path)
    try:
        with np.load(source, allow_pickle=False) as stored:
            record = json.loads(stored["record"].tobytes())
            embeddings = stored["embeddings"]
        if record["version"] != VERSION:
            raise ValueError(f"version {record['version']}, expected {VERSION}")
        return Index(
            root=(source.absolute().parent / record["root"]).resolve(),
            model=record["model"],
            model_sha256=record["model_sha256"],
            entries=_entries(record["files"], embeddings),
        )
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy and zipfile raise many kinds for a damaged file
        raise InputError(
            f"{source} is not an index that triptych index wrote, or is damaged ({error}); "
            "make it anew with triptych index FOLDER --rebuild"
        ) from error


def printable(path: str) -> str:
    """A path as text that can be written anywhere, also where it is not valid Unicode."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _stored_root(root: Path, target: Path) -> str:
    """The folder as seen from the index where that lies inside it: both may then be moved."""
    resolved, home = root.resolve(), target.absolute().parent.resolve()
    inside = home == resolved or resolved in home.parents
    return os.path.relpath(resolved, home) if inside else os.fspath(resolved)


def _entries(files: list[list[Any]], embeddings: NDArray[np.float32]) -> list[Entry]:
    entries, row = [], 0
    for path, size, modified_ns, sha256, problem, starts, seconds in files:
        if len(starts) != len(seconds):
            raise ValueError(f"{path!r} has {len(starts)} windows and {len(seconds)} lengths")
        rows = embeddings[row : row + len(starts)]
        row += len(starts)
        entries.append(
            Entry(path, size, modified_ns, sha256, problem, tuple(starts), tuple(seconds), rows)
        )
    if embeddings.ndim != 2 or row != len(embeddings):
        raise ValueError(f"{len(embeddings)} embeddings of {row} windows")
    return entries


def _listing(index: Index) -> pd.DataFrame:
    rows = [
        (printable(e.path), round(e.length, 2), len(e.starts), printable(e.problem))
        for e in index.entries
    ]
    return pd.DataFrame(rows, columns=["file", "seconds", "windows", "problem"])
