"""Bringing an index up to date with its folder: only what is new or changed is embedded."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from triptych.apps.sounds.search.index import Entry, Index
from triptych.apps.sounds.search.other_formats import READ, SUFFIXES, stream_any
from triptych.audio.data.decoding import SAMPLE_RATE, AudioProblem
from triptych.core.files import not_a_file, sha256_of
from triptych.core.progress import Progress

SHORTEST_SECONDS = 1.0
"""What is left behind the last whole segment is not heard when it is shorter than this."""
SAVE_SECONDS = 30.0
"""How much work a kill may cost, beside that of the file at hand."""

Waveform = NDArray[np.float32]


class Model(Protocol):
    """What embeds sounds (`embedder.Embedder`)."""

    batch_seconds: float  # of sound that it is best given at once

    def sounds(self, waveforms: Sequence[Waveform]) -> NDArray[np.float32]:
        """Waveforms, each [frames] at 32 kHz, to embeddings [W, D]."""


@dataclass(frozen=True)
class Update:
    """What an update did: files by what became of them; `stopped` says what ended it early."""

    new: int
    kept: int
    moved: int
    removed: int
    stopped: str | None


def sound_files(folder: Path) -> list[str]:
    """All sound files below a folder, by their paths with /, sorted; nothing hidden.

    Each folder is walked once, however many links lead to it, and by its own path if it has one
    below `folder`; so no sound is found twice and no circle is walked for ever.
    """
    found: list[str] = []
    waiting, seen = [folder], set()
    while waiting:
        links = []
        for where, folders, names in os.walk(waiting.pop(0)):
            about = os.stat(where)
            if (about.st_dev, about.st_ino) in seen:
                folders.clear()
                continue
            seen.add((about.st_dev, about.st_ino))
            below = [Path(where, name) for name in sorted(folders) if not name.startswith(".")]
            links += [path for path in below if path.is_symlink()]  # os.walk doesn't enter them
            folders[:] = [path.name for path in below if not path.is_symlink()]
            for name in names:
                if Path(name).suffix.lower() in (*READ, *SUFFIXES) and not name.startswith("."):
                    found.append(Path(where, name).relative_to(folder).as_posix())
        waiting += links
    return sorted(found)


def segments(blocks: Iterable[Waveform], seconds: float) -> Iterator[tuple[float, Waveform]]:
    """A sound, block by block at 32 kHz, cut into segments: start in seconds, samples.

    Never more than two segments and a block are in memory. All are `seconds` long, but for a sound
    that is shorter itself. The last one ends with the sound and so overlaps the one before it; a
    rest under SHORTEST_SECONDS is left out.
    """
    length = round(seconds * SAMPLE_RATE)
    before = np.zeros(0, np.float32)  # the last whole segment
    held, start = [], 0
    for block in blocks:
        held.append(block)
        if sum(map(len, held)) < length:
            continue
        joined = np.concatenate(held)
        while len(joined) >= length:
            before, joined = joined[:length], joined[length:]
            yield start / SAMPLE_RATE, before
            start += length
        held = [joined.copy()]  # not a view, which would keep all of `joined`
    rest = np.concatenate([np.zeros(0, np.float32), *held])
    if not start and len(rest):
        yield 0.0, rest
    elif len(rest) >= round(SHORTEST_SECONDS * SAMPLE_RATE):
        overlap = length - len(rest)
        yield (start - overlap) / SAMPLE_RATE, np.concatenate([before[-overlap:], rest])


class _Batches:
    """Gathers segments of several files into batches; a file is done when all of it is embedded."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = cache(load)  # loading takes seconds, and often nothing is to be embedded
        self._waiting: list[tuple[str, Waveform]] = []
        self._rows: dict[str, list[NDArray[np.float16]]] = {}
        self._whole: dict[str, tuple[Entry, int]] = {}

    def add(self, path: str, waveform: Waveform) -> None:
        self._waiting.append((path, waveform))
        held = sum(len(waveform) for _, waveform in self._waiting)
        if held >= self._load().batch_seconds * SAMPLE_RATE:
            self.flush()

    def finish(self, entry: Entry, segments: int) -> None:
        self._whole[entry.path] = entry, segments

    def drop(self, path: str) -> None:
        self._waiting = [(p, waveform) for p, waveform in self._waiting if p != path]
        self._rows.pop(path, None)

    def flush(self) -> None:
        if self._waiting:
            embedded = self._load().sounds([waveform for _, waveform in self._waiting])
            for (path, _), row in zip(self._waiting, embedded, strict=True):
                self._rows.setdefault(path, []).append(np.asarray(row, np.float16))
            self._waiting = []

    def done(self) -> list[Entry]:
        """The entries that have become whole since this was last asked."""
        ready = [
            path
            for path, (_, segments) in self._whole.items()
            if len(self._rows.get(path, ())) == segments
        ]
        return [
            replace(self._whole.pop(path)[0], embeddings=np.stack(self._rows.pop(path)))
            for path in ready
        ]


def update_index(
    folder: Path,
    earlier: Index | None,
    model: tuple[str, str, float],
    load: Callable[[], Model],
    save: Callable[[Index], None],
    stop: Callable[[], str | None] = lambda: None,
    only: Sequence[str] | None = None,
) -> tuple[Index, Update]:
    """The folder's index; `save` is called with it now and then, and at the end.

    earlier: the index so far, made by the same model. A file of the same size and time of change
    is taken over from it; so is one of the same content, wherever it was. Files that could not be
    read are tried again. model: its folder, the SHA-256 of its weights and the seconds of its
    segments; `load` is called when the first sound is to be embedded. `stop` is asked between
    files and segments; a reason ends the work, and what was done is saved. only: paths below the
    folder, where not all of its sounds are wanted.
    """
    known = {entry.path: entry for entry in earlier.entries} if earlier else {}
    by_content = {entry.sha256: entry for entry in known.values() if entry.sha256}
    paths = sound_files(folder) if only is None else sorted(only)
    entries: dict[str, Entry] = {}
    fresh: list[Entry] = []
    for path in paths:
        was, entry = known.get(path), _looked_at(folder, path)
        same = was and (was.size, was.modified_ns) == (entry.size, entry.modified_ns)
        if was and same and not was.problem:
            entries[path] = was
        else:
            fresh.append(entry)
    kept, moved, stopped = len(entries), 0, None

    def current() -> Index:
        ordered = [entries[path] for path in sorted(entries)]
        return Index(folder, *model, ordered)

    batches = _Batches(load)
    saved, pause = time.monotonic(), SAVE_SECONDS
    with Progress("index", len(fresh), "files") as progress:
        for entry in fresh:
            if stopped := stop():
                break
            done, same = _read(folder, entry, model[2], by_content, batches, stop)
            moved += same
            for one in [*done, *batches.done()]:
                entries[one.path] = one
                progress.advance()
            if time.monotonic() - saved > pause:
                began = time.monotonic()
                save(current())
                saved = time.monotonic()
                pause = max(SAVE_SECONDS, 10 * (saved - began))
        stopped = stopped or stop()
        batches.flush()
        for one in batches.done():
            entries[one.path] = one
            progress.advance()
    index = current()
    save(index)
    return index, Update(
        new=len(entries) - kept - moved - len(index.problems),
        kept=kept,
        moved=moved,
        removed=len(set(known) - set(paths)),
        stopped=stopped if len(entries) < len(paths) else None,
    )


def _looked_at(folder: Path, path: str) -> Entry:
    if odd := not_a_file(folder / path):
        return Entry(path, 0, 0, problem=odd)
    try:
        about = (folder / path).stat()
    except OSError as problem:  # a link that leads nowhere, a file that went away
        return Entry(path, 0, 0, problem=problem.strerror or str(problem))
    return Entry(path, about.st_size, about.st_mtime_ns)


def _read(
    folder: Path,
    entry: Entry,
    segment_seconds: float,
    by_content: dict[str, Entry],
    batches: _Batches,
    stop: Callable[[], str | None],
) -> tuple[list[Entry], bool]:
    """Entries that need no embedding: the file's own if its content is known or unreadable."""
    path = folder / entry.path
    try:
        if entry.problem:
            raise AudioProblem(entry.problem)
        entry = replace(entry, sha256=sha256_of(path))
        same = by_content.get(entry.sha256)
        if same:
            return [replace(entry, seconds=same.seconds, embeddings=same.embeddings)], True
        count, end = 0, 0.0
        for start, waveform in segments(stream_any(path), segment_seconds):
            if stop():
                batches.drop(entry.path)
                return [], False
            batches.add(entry.path, waveform)
            count, end = count + 1, start + len(waveform) / SAMPLE_RATE
        if not count:
            raise AudioProblem(f"{path}: holds no samples")
    except (AudioProblem, OSError, UnicodeEncodeError) as problem:
        batches.drop(entry.path)
        message = str(problem).removeprefix(f"{path}: ")
        if isinstance(problem, UnicodeEncodeError):
            message = "its name is not valid in this system's encoding; rename it"
        return [replace(entry, sha256="", problem=message)], False
    batches.finish(replace(entry, seconds=end), count)
    return [], False
