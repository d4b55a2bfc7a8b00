"""Bringing an index up to date with its folder: only what is new or changed is embedded."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from triptych.apps.sounds.search.index import NAME, Entry, Index
from triptych.apps.sounds.search.trained import NETWORK, WEIGHTS
from triptych.audio.data.decoding import (
    BARE,
    SAMPLE_RATE,
    AudioProblem,
    opened,
    readable,
    stream_audio,
)
from triptych.audio.data.sound_bytes import SUFFIXES, may_be_sound
from triptych.core.errors import printable
from triptych.core.files import is_hidden, not_a_file, sha256_of
from triptych.core.progress import Progress

if TYPE_CHECKING:
    from triptych.apps.sounds.search.embedder import ClapEmbedder, Embedder

logger = logging.getLogger(__name__)

PADDING_SECONDS = 0.05
"""Encoders fill up a sound's end by less than this, which asks for no segment of its own."""
NAMED = 3
"""So many files of each kind that isn't read are named."""
SAVE_SECONDS = 30.0
"""How much work a kill may cost, beside that of the file at hand."""

Waveform = NDArray[np.float32]


@dataclass(frozen=True)
class Update:
    """Counts of files in an update; `stopped` is the reason that ended it early."""

    new: int
    kept: int
    moved: int
    removed: int
    stopped: str | None


def sound_files(folder: Path, unread: list[str] | None = None) -> list[str]:
    """The files below a folder that are named as sound or hold some; nothing hidden.

    Paths have / in them, and are sorted. Linked folders are followed; each folder is walked once,
    however many links lead to it. Folders that cannot be looked into go into `unread`.
    """
    paths: list[str] = []
    others: dict[str, list[str]] = {}
    visited = set()

    def warn(problem: OSError) -> None:
        logger.error("%s: %s; nothing new in it is indexed", problem.filename, problem.strerror)
        if unread is not None:
            unread.append(str(problem.filename))

    for where, folders, names in os.walk(folder, followlinks=True, onerror=warn):
        try:
            about = os.stat(where)
        except OSError as problem:  # it went away meanwhile
            warn(problem)
            continue
        if (about.st_dev, about.st_ino) in visited:
            folders.clear()
            continue
        visited.add((about.st_dev, about.st_ino))
        visible = [name for name in folders if not is_hidden(Path(name))]
        folders[:] = sorted(
            visible, key=lambda name: (os.path.islink(os.path.join(where, name)), name)
        )
        own = _own_files(folders, names)
        for name in names:
            path = Path(where, name)
            if is_hidden(Path(name)):
                continue
            if _is_sound(path):
                paths.append(path.relative_to(folder).as_posix())
            elif name not in own:
                kind = path.suffix.lower() or "without a suffix"
                others.setdefault(kind, []).append(printable(path.relative_to(folder).as_posix()))
    if others:
        kinds = "; ".join(
            f"{len(paths)} {kind} ({', '.join([*sorted(paths)[:NAMED], '...'][: len(paths)])})"
            for kind, paths in sorted(others.items(), key=lambda one: (-len(one[1]), one[0]))
        )
        count = sum(map(len, others.values()))
        files = "1 file is" if count == 1 else f"{count} files are"
        logger.info("%s not read as sound: %s", files, kinds)
    return sorted(paths)


def _own_files(folders: Sequence[str], names: Sequence[str]) -> set[str]:
    """The files of a folder that index and adapt write: indices, and all beside a text side's
    network or a model's weights. folders, names: what lies in it."""
    if not {NETWORK, WEIGHTS}.isdisjoint(names):
        return set(names)
    sides = (name for name in folders if name.endswith(".text"))
    return {NAME, *(name.removesuffix(".text") + ".npz" for name in sides)}


def _is_sound(path: Path) -> bool:
    """Whether a file is named as sound, or holds some under another name."""
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        if path.is_file() and (begins_so := may_be_sound(path)) is not False:
            with opened(path) as sound:  # whose frames alone may be anything
                return begins_so is True or sound.container.format.name not in BARE
    except (AudioProblem, OSError):
        pass  # neither by its name nor by its content: no input
    return False


def segments(blocks: Iterable[Waveform], seconds: float) -> Iterator[tuple[float, Waveform]]:
    """A sound, block by block at 32 kHz, cut into segments: start in seconds, samples.

    Never more than two segments and a block are in memory. All are `seconds` long, but for a sound
    that is shorter itself. The last one ends with the sound and so overlaps the one before it; a
    rest under PADDING_SECONDS is left out.
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
    elif len(rest) >= round(PADDING_SECONDS * SAMPLE_RATE):
        overlap = length - len(rest)
        yield (start - overlap) / SAMPLE_RATE, np.concatenate([before[-overlap:], rest])


def update_index(
    folder: Path,
    earlier: Index | None,
    model: tuple[str, str, float],
    load: Callable[[], "Embedder | ClapEmbedder"],
    save: Callable[[Index], None],
    stop: Callable[[], str | None] = lambda: None,
    paths: Sequence[str] | None = None,
) -> tuple[Index, Update]:
    """The folder's index; `save` is called with it now and then, and at the end.

    earlier: the index so far, made by the same model. A file of the same size and time of change
    is taken over from it; so is one of the same content, wherever it was. Files that could not be
    read to their end are tried again; what cannot be looked at now keeps its embeddings, and so
    does what an error or `stop` left unseen. model: its folder, the SHA-256 of its weights and the
    seconds of its segments; `load` is called when the first sound is to be embedded. `stop` is
    asked between files and batches; a reason ends the work, and what was done is saved. paths: of
    `sound_files`, or the files that are wanted.
    """
    known = {entry.path: entry for entry in earlier.entries} if earlier else {}
    by_content = {entry.sha256: entry for entry in known.values() if entry.sha256}
    paths = sound_files(folder) if paths is None else paths
    entries, fresh = _compared(folder, paths, known)
    removed = len(set(known) - set(paths) - set(entries))
    kept, moved, stopped = len(entries), 0, None

    def current(finished: bool = False) -> Index:
        """The index so far, with earlier entries that are neither confirmed nor replaced."""
        so_far = entries if finished else known | entries
        return Index(folder, *model, [so_far[path] for path in sorted(so_far)])

    saved, finished = time.monotonic(), False
    try:
        with Progress("index", sum(map(_kilobytes, fresh)), "kB") as progress:

            @cache  # it takes seconds, and often nothing is to be embedded
            def loaded() -> "Embedder | ClapEmbedder":
                embedder = load()
                progress.restart()
                return embedder

            for number, entry in enumerate(fresh, start=1):
                embedded = _heard(
                    folder,
                    entry,
                    known.get(entry.path),
                    segment_seconds=model[2],
                    by_content=by_content,
                    load=loaded,
                    stop=stop,
                )
                if stopped := stop():
                    break
                entries[entry.path] = embedded
                if embedded.sha256 in by_content:
                    moved += not embedded.problem
                    kept += bool(embedded.problem)
                progress.advance(_kilobytes(entry), f"{number} of {len(fresh)} files")
                if time.monotonic() - saved > SAVE_SECONDS:
                    save(current())
                    saved = time.monotonic()
        finished = stopped is None
    finally:  # whatever ends the work
        save(current(finished))
    index = current(finished)
    new = sum(len(entry.embeddings) > 0 for entry in entries.values()) - kept - moved
    return index, Update(new, kept, moved, removed, stopped)


def _kilobytes(entry: Entry) -> int:
    """Work that a file is, by its size."""
    return 1 + entry.size // 1000


def _compared(
    folder: Path, paths: Sequence[str], known: Mapping[str, Entry]
) -> tuple[dict[str, Entry], list[Entry]]:
    """Earlier entries that stay as they are or cannot be looked at now, and those to be heard."""
    entries = {
        path: replace(known[path], problem=reason)
        for path in sorted(set(known) - set(paths))
        if (reason := _away(folder, path))
    }
    fresh: list[Entry] = []
    for path in paths:
        was, entry = known.get(path), _looked_at(folder, path)
        same = was and (was.size, was.modified_ns) == (entry.size, entry.modified_ns)
        if was and same and not was.problem:
            entries[path] = was
        else:
            fresh.append(entry)
    return entries, fresh


def _away(folder: Path, path: str) -> str:
    """Why a file that was indexed cannot be seen now though nobody removed it, or ""."""
    for parent in reversed(Path(path).parents[:-1]):
        where = folder / parent
        if where.is_symlink() and not where.exists():
            return f"{parent} is a link to what is not there now"
        if not where.is_dir():
            return ""
        try:
            if not any(where.iterdir()):
                return f"{parent} is empty now (is its disk away? If not, remove the folder)"
        except OSError as problem:
            return f"{parent}: {problem.strerror}"
    return ""


def _looked_at(folder: Path, path: str) -> Entry:
    if odd := not_a_file(folder / path):
        return Entry(path, 0, 0, problem=odd)
    try:
        about = (folder / path).stat()
    except OSError as problem:  # a link that leads nowhere, a file that went away
        return Entry(path, 0, 0, problem=problem.strerror or str(problem))
    return Entry(path, about.st_size, about.st_mtime_ns)


def _heard(
    folder: Path,
    entry: Entry,
    earlier: Entry | None,
    *,
    segment_seconds: float,
    by_content: Mapping[str, Entry],
    load: Callable[[], "Embedder | ClapEmbedder"],
    stop: Callable[[], str | None],
) -> Entry:
    """The entry with the file's embeddings, as far as it can be read, and with why no farther.

    Those of `earlier` stay where the file cannot be looked at, as on a disk that is away.
    """
    path = folder / entry.path
    try:
        if entry.problem:
            return replace(earlier or entry, problem=entry.problem)
        entry = replace(entry, sha256=sha256_of(path))
        if same := by_content.get(entry.sha256):
            return replace(entry, seconds=same.seconds, embeddings=same.embeddings)
        parts, end = [], 0.0
        several = max(1, round(load().batch_seconds / segment_seconds))
        damages: list[str] = []
        cut = segments(readable(stream_audio(path), damages), segment_seconds)
        while batch := list(islice(cut, several)):
            if stop():
                return entry
            parts.append(load().sounds([waveform for _, waveform in batch]).astype(np.float16))
            end = batch[-1][0] + len(batch[-1][1]) / SAMPLE_RATE
        if parts:
            entry = replace(entry, seconds=end, embeddings=np.concatenate(parts))
        if damages or not parts:
            raise AudioProblem(*damages or [f"{path}: holds no samples"])
        return entry
    except OSError as problem:
        reason = problem.strerror or str(problem)
        return replace(earlier, problem=reason) if earlier else replace(entry, problem=reason)
    except AudioProblem as problem:
        return replace(entry, sha256="", problem=str(problem).removeprefix(f"{path}: "))
