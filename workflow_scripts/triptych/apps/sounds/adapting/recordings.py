"""A person's recordings with captions: read, checked as a whole, and split."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triptych.audio.data.audio_sources import Folder
from triptych.audio.data.decoding import AudioProblem, stream_audio
from triptych.audio.data.tables import read_strings
from triptych.audio.models.text_files import clean_caption
from triptych.audio.training.batches import uniform
from triptych.core.errors import InputError, printable
from triptych.core.files import sha256_of
from triptych.core.progress import Progress

PARTS = ("training", "held out")
"""What is learnt from, and what scores are reported of."""
HELD_OUT = 0.2
LEAST = 2
"""Recordings of each part."""


@dataclass(frozen=True)
class Recording:
    """A sound file with its captions.

    path: below the folder, with /;  sha256: of its content;  frames: at 32 kHz
    """

    path: str
    sha256: str
    frames: int
    captions: tuple[str, ...]

    @property
    def part(self) -> str:
        """One of PARTS: a function of the content alone.

        So a recording that was held out once is held out whenever a model is adapted, whatever
        other recordings there are, and a copy of it as well.
        """
        return PARTS[uniform("adapt", self.sha256) >= 1 - HELD_OUT]


def read_recordings(pairs: Path, folder: Path) -> list[Recording]:
    """The recordings that a table names, by path; each is decoded once, to see whether it is whole.

    pairs: a CSV file with the columns file (below the folder, or an absolute path) and caption, a
    file in as many rows as it has captions. Of several files of the same content the first has the
    captions of all. Raises InputError, naming everything that is wrong with table and files.
    """
    table = read_strings(pairs, ("file", "caption"))
    captions: dict[str, list[str]] = {}
    problems = []
    rows = zip(table["file"], table["caption"], strict=True)
    for row, (file, caption) in enumerate(rows, start=2):
        path = os.path.relpath(os.path.join(folder.absolute(), file), folder.absolute())
        problem_of_row = ""
        if path.split(os.sep)[0] == os.pardir:
            problem_of_row = f"lies outside {folder}"
        elif not clean_caption(caption).strip():
            problem_of_row = "has an empty caption"
        if problem_of_row:
            problems.append(f"row {row}: {printable(file)!r} {problem_of_row}")
        else:
            captions.setdefault(Path(path).as_posix(), []).append(caption.strip())
    sounds = Folder(folder)
    recordings: dict[str, Recording] = {}
    with Progress("check", len(captions), "files") as progress:
        for path in sorted(captions):
            try:
                recording = _read(folder, sounds.find(path) or folder / path, captions[path])
            except (AudioProblem, OSError, ValueError) as problem:  # a name with \0 in it, say
                message = str(problem).removeprefix(f"{folder / path}: ")
                problems.append(f"{printable(path)}: {printable(message)}")
            else:
                same = recordings.get(recording.sha256, recording)
                both = tuple(dict.fromkeys((*same.captions, *recording.captions)))
                recordings[recording.sha256] = replace(same, captions=both)
            progress.advance()
    if problems:
        raise InputError(
            f"{pairs}: {len(problems)} problems; nothing was computed. Correct the table or the "
            "files, or take their rows out:\n" + "\n".join(f"  {line}" for line in problems)
        )
    return list(recordings.values())


def _read(folder: Path, file: Path, captions: Sequence[str]) -> Recording:
    frames = sum(map(len, stream_audio(file)))
    path = file.relative_to(folder).as_posix()
    return Recording(path, sha256_of(file), frames, tuple(dict.fromkeys(captions)))


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
