"""The index of a folder of sounds: an embedding of each segment of each file, in one .npz file.

Beside it lie a listing of the same name, .csv, for people, and the model's text side
(`text_side.py`). No pickles. Embeddings are float16 and stay in the file until they are compared,
so that an index larger than memory is still searched.
"""

import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from triptych.core.errors import InputError
from triptych.core.files import atomic_path

NAME = "triptych-index.npz"
"""The index of a folder, in that folder, unless another place is given."""
VERSION = 2
RECORD, EMBEDDINGS = "record", "embeddings"
ANEW = "run triptych index FOLDER --rebuild to embed the folder anew"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file and its segments.

    path: below the indexed folder, with /; size, modified_ns: as the file system tells;
    sha256: of the content ("" where unread); problem: why it could not be read, or "";
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

    segment_seconds: what the model hears at once; stored: the embeddings of all entries where
    they lie together already, in the file.
    """

    root: Path
    model: str
    model_sha256: str
    segment_seconds: float
    entries: Sequence[Entry]
    stored: NDArray[np.float16] | None = None

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """Number of each entry's first segment among all, and how many there are: [F + 1]."""
        return np.cumsum([0, *(len(entry.embeddings) for entry in self.entries)])

    @cached_property
    def embeddings(self) -> NDArray[np.float16]:
        """Of all segments: [R, D]."""
        if self.stored is not None:
            return self.stored
        parts = [entry.embeddings for entry in self.entries if len(entry.embeddings)]
        return np.concatenate(parts) if parts else np.zeros((0, 0), np.float16)

    def segment(self, row: int) -> tuple[Entry, float, float]:
        """The entry of a segment, and its start and end in seconds."""
        owner = int(np.searchsorted(self.firsts, row, side="right")) - 1
        entry = self.entries[owner]
        return entry, *self.times(entry, row - int(self.firsts[owner]))

    def times(self, entry: Entry, segment: int) -> tuple[float, float]:
        """Start and end in seconds of an entry's segment, of which the last ends with the file."""
        length = self.segment_seconds
        start = max(0.0, min(segment * length, entry.seconds - length))
        return start, min(start + length, entry.seconds)

    @property
    def problems(self) -> list[Entry]:
        """The files that could not be read."""
        return [entry for entry in self.entries if entry.problem]


def index_path(given: str | os.PathLike[str]) -> Path:
    """The index's file, where a folder stands for the index in it."""
    path = Path(given)
    return path / NAME if path.is_dir() else path


def write_index(index: Index, path: str | os.PathLike[str]) -> None:
    """Write the index, a file *.npz, and its listing beside it."""
    target = Path(path)
    record = {
        "version": VERSION,
        "root": _stored_root(index.root, target),
        "model": index.model,
        "model_sha256": index.model_sha256,
        "segment_seconds": index.segment_seconds,
        "files": [
            [e.path, e.size, e.modified_ns, e.sha256, e.problem, e.seconds, len(e.embeddings)]
            for e in index.entries
        ],
    }
    text = json.dumps(record).encode("ascii")  # names that are not Unicode survive as \udcXX
    parts = [entry.embeddings for entry in index.entries if len(entry.embeddings)]
    with atomic_path(target) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        # First, so that the numbers lie at an even place, from where they can be mapped.
        with archive.open(f"{EMBEDDINGS}.npy", "w", force_zip64=True) as stream:
            _write_rows(stream, parts)
        with archive.open(f"{RECORD}.npy", "w") as stream:
            np.lib.format.write_array(stream, np.frombuffer(text, np.uint8))
    _write_listing(index, target.with_suffix(".csv"))


def read_index(path: str | os.PathLike[str]) -> Index:
    """Read an index. Raises InputError for a file that is none, FileNotFoundError for no file."""
    source = Path(path)
    try:
        with np.load(source, allow_pickle=False) as stored:
            record = json.loads(stored[RECORD].tobytes())
        version = record["version"]
        embeddings = _mapped(source) if version == VERSION else None
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy and zipfile raise many kinds for a damaged file
        raise InputError(_no_index(source, error)) from error
    if embeddings is None:
        raise InputError(
            f"{source} was written by another version of triptych (its layout is {version!r}, this "
            f"version's {VERSION}): {ANEW}"
        )
    try:
        return Index(
            root=(source.absolute().parent / record["root"]).resolve(),
            model=record["model"],
            model_sha256=record["model_sha256"],
            segment_seconds=record["segment_seconds"],
            entries=_entries(record["files"], embeddings),
            stored=embeddings,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(_no_index(source, error)) from error


def printable(path: str) -> str:
    """A path as text that can be written anywhere, also where it is not valid Unicode."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _no_index(source: Path, error: Exception) -> str:
    return (
        f"{source} is not an index that triptych index wrote, or is damaged ({error}); "
        "make it anew with triptych index FOLDER --rebuild"
    )


def _stored_root(root: Path, target: Path) -> str:
    """The folder as seen from the index where that lies inside it: both may then be moved."""
    resolved, home = root.resolve(), target.absolute().parent.resolve()
    inside = home == resolved or resolved in home.parents
    return os.path.relpath(resolved, home) if inside else os.fspath(resolved)


def _write_rows(stream: IO[bytes], parts: Sequence[NDArray[np.float16]]) -> None:
    """Rows as one array of an .npy file, without a copy of all of them."""
    shape = (sum(map(len, parts)), parts[0].shape[1] if parts else 0)
    header = {"descr": "<f2", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    for part in parts:
        stream.write(np.ascontiguousarray(part, "<f2").tobytes())


def _mapped(path: Path) -> NDArray[np.float16]:
    """The embeddings [R, D] where they lie in the archive, which doesn't compress them."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{EMBEDDINGS}.npy")
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError("its embeddings are compressed")
        with archive.open(member) as stream:
            np.lib.format.read_magic(stream)
            shape, _, kind = np.lib.format.read_array_header_1_0(stream)
            header = stream.tell()
    if kind != np.dtype("<f2") or len(shape) != 2:
        raise ValueError(f"embeddings {shape} of {kind}, expected two axes of float16")
    with path.open("rb") as raw:
        raw.seek(member.header_offset + 26)  # lengths of the name and of what follows it
        lengths = np.frombuffer(raw.read(4), "<u2")
    offset = member.header_offset + 30 + int(lengths.sum()) + header
    if not shape[0]:
        return np.zeros(shape, np.float16)
    return np.asarray(np.memmap(path, np.float16, "r", offset, shape))


def _entries(files: list[list[Any]], embeddings: NDArray[np.float16]) -> list[Entry]:
    entries, row = [], 0
    for path, size, modified_ns, sha256, problem, seconds, segments in files:
        rows = embeddings[row : row + segments]
        entries.append(Entry(path, size, modified_ns, sha256, problem, seconds, rows))
        row += segments
    if row != len(embeddings):
        raise ValueError(f"{len(embeddings)} embeddings of {row} segments")
    return entries


def _write_listing(index: Index, path: Path) -> None:
    import pandas as pd  # takes a second, which a search hasn't

    from triptych.core.files import write_csv

    rows = [
        (printable(e.path), round(e.seconds, 2), len(e.embeddings), printable(e.problem))
        for e in index.entries
    ]
    write_csv(pd.DataFrame(rows, columns=["file", "seconds", "segments", "problem"]), path)
