"""A person's recordings with captions: read, checked as a whole, and split."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from triptych.apps.sounds.search.index import Index
from triptych.audio.data.audio_sources import Folder
from triptych.audio.data.tables import read_rows
from triptych.audio.models.text_files import clean_caption
from triptych.audio.training.batches import uniform
from triptych.core.errors import InputError, printable

PARTS = ("training", "held out")
"""What is learnt from, and what scores are reported of."""
HELD_OUT = 0.2
LEAST = 2
"""Recordings of each part."""


@dataclass(frozen=True)
class Recording:
    """A sound file with its captions.

    path: below the folder, with /; sha256: of its content; segments: their embeddings, unit
    vectors float32 [S, D].
    """

    path: str
    sha256: str
    captions: tuple[str, ...]
    segments: Tensor

    @property
    def part(self) -> str:
        """One of PARTS: a function of the content alone.

        So a recording that was held out once is held out whenever a model is adapted, whatever
        other recordings there are, and a copy of it as well.
        """
        return PARTS[uniform("adapt", self.sha256) >= 1 - HELD_OUT]


def read_pairs(pairs: Path, folder: Path) -> dict[str, list[str]]:
    """Captions by the paths of their recordings below a folder, with /, sorted.

    pairs: a CSV file with the columns file (below the folder, or an absolute path) and caption, a
    file in as many rows as it has captions. Raises InputError, naming every row that is wrong.
    """
    table = read_rows(pairs, ("file", "caption"))
    sounds, captions = Folder(folder), dict[str, list[str]]()
    problems = []
    for number, row in zip(table.lines, table.rows, strict=True):
        name, caption = row["file"], row["caption"]
        path = os.path.relpath(os.path.join(folder.absolute(), name), folder.absolute())
        file = sounds.find(Path(path).as_posix()) or folder / path
        if path.split(os.sep)[0] == os.pardir:
            problems.append(f"line {number}: {printable(name)!r} lies outside {folder}")
        elif not clean_caption(caption).strip():
            problems.append(f"line {number}: {printable(name)!r} has an empty caption")
        elif not os.path.isfile(file):
            problems.append(f"line {number}: there is no such file as {printable(name)!r}")
        else:
            captions.setdefault(file.relative_to(folder).as_posix(), []).append(caption.strip())
    _refuse(problems, f"in {pairs}")
    return dict(sorted(captions.items()))


def recordings_of(index: Index, captions: Mapping[str, Sequence[str]]) -> list[Recording]:
    """The recordings of an index, with their captions.

    Of several files of the same content the first has the captions of all. Captions that the model
    reads alike, whatever their capitals and full stops, are one: the first. Raises InputError,
    naming every file that cannot be read to its end.
    """
    problems = [f"{printable(e.path)}: {printable(e.problem)}" for e in index.problems]
    _refuse(problems, "with recordings")
    recordings: dict[str, Recording] = {}
    spellings: dict[str, str] = {}

    def first_spelling(caption: str) -> str:
        return spellings.setdefault(" ".join(clean_caption(caption).split()), caption)

    for entry in index.entries:
        segments = torch.from_numpy(entry.embeddings.astype(np.float32))
        recording = Recording(entry.path, entry.sha256, (), segments)
        same = recordings.get(entry.sha256, recording)
        own = map(first_spelling, captions[entry.path])
        both = tuple(dict.fromkeys((*same.captions, *own)))
        recordings[entry.sha256] = replace(same, captions=both)
    return list(recordings.values())


def split(recordings: Sequence[Recording]) -> dict[str, list[Recording]]:
    """The recordings of each of PARTS. Raises InputError for too few."""
    parts = {part: [one for one in recordings if one.part == part] for part in PARTS}
    if min(map(len, parts.values())) < LEAST:
        counts = ", ".join(f"{len(members)} {part}" for part, members in parts.items())
        raise InputError(
            f"{len(recordings)} recordings are too few: by their content they are {counts}, and "
            f"each part needs {LEAST}. Give some thirty, better some hundreds"
        )
    return parts


def _refuse(problems: Sequence[str], where: str) -> None:
    """Raise InputError where there are problems."""
    if problems:
        raise InputError(
            f"{len(problems)} problems {where}; nothing was learnt. Correct the table or the "
            "files, or take their rows out:\n" + "\n".join(f"  {line}" for line in problems)
        )
