"""A person's recordings with captions: read, checked as a whole, split; and how models search them.

Of held-out recordings a caption is a query, as a person types it; they are ranked as
`triptych search` ranks them, by their best segment. Recordings that share a caption are all right
for it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.stats import hypergeom
from torch import Tensor

from triptych.apps.sounds.search.embedder import Maps
from triptych.apps.sounds.search.index import Index
from triptych.audio.data.audio_sources import Folder
from triptych.audio.data.tables import read_rows
from triptych.audio.models.retrieval import unit_vectors
from triptych.audio.models.text_files import clean_caption
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import (
    Floats,
    average_precisions,
    chance_average_precision,
    hits,
    ranks,
)
from triptych.audio.training.batches import uniform
from triptych.core.errors import InputError, printable

PARTS = ("training", "held out")
"""What is learnt from, and what scores are reported of."""
HELD_OUT = 0.2
LEAST = 2
"""Recordings of each part."""
CUTOFFS = (10, 16)
"""k of mAP@k: DCASE 2023 used 10, DCASE 2025 uses 16."""
RECALLS = (1, 5, 10)
FEW = 30
"""Recordings below which the intervals themselves are not to be trusted."""

NAMES = {
    **{f"map_at_{k}": f"mAP@{k}" for k in CUTOFFS},
    **{f"r_at_{k}": f"R@{k}" for k in RECALLS},
}


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
    if problems:
        raise InputError(
            f"{len(problems)} problems {where}; nothing was learnt. Correct the table or the "
            "files, or take their rows out:\n" + "\n".join(f"  {line}" for line in problems)
        )


class HeldOut:
    """Recordings, and the captions that are asked of them.

    captions: [Q], each once;  relevant: bool [Q, C], which recordings have which caption
    """

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = sorted(recordings, key=lambda recording: recording.path)
        self.captions = list(dict.fromkeys(text for r in self._recordings for text in r.captions))
        captions_of = [set(recording.captions) for recording in self._recordings]
        self.relevant = np.array([[c in some for some in captions_of] for c in self.captions])

    def scores(self, texts: Mapping[str, Tensor], maps: Maps) -> Floats:
        """Scores [Q, C] of captions and recordings: the cosine of the best segment.

        texts: unit vectors [D] of the captions.
        """
        audio, text = maps
        queries = unit_vectors(torch.stack([texts[caption] for caption in self.captions]) @ text)
        best = [(queries @ unit_vectors(r.segments @ audio).T).amax(1) for r in self._recordings]
        return torch.stack(best, dim=1).double().numpy()

    def compare(self, before: Floats, after: Floats) -> pd.DataFrame:
        """A row for each metric: chance, its mean over captions with both models, and the gain.

        before, after: as `scores` returns them. Columns that end in _low and _high are the ends of
        95% intervals, from resampled recordings; the gain's is of the differences, caption by
        caption.
        """
        clusters = np.array(self.relevant.argmax(1).astype(str))
        resamples = ClusterResamples(clusters)
        first, second = map(self._per_query, (before, after))
        queries, recordings = self.relevant.shape
        rows = []
        for metric, chance in self._chance().items():
            gain = second[metric] - first[metric]
            row: dict[str, float | str] = {"metric": metric, "chance": chance}
            row |= _interval("before", resamples, first[metric])
            row |= _interval("after", resamples, second[metric])
            row |= _interval("gain", resamples, gain)
            rows.append(row | {"queries": queries, "recordings": recordings})
        return pd.DataFrame(rows)

    def _per_query(self, scores: Floats) -> dict[str, Floats]:
        best = np.where(self.relevant, scores, -np.inf).argmax(1)
        of_ranks = ranks(scores, best)
        return {
            **{f"map_at_{k}": average_precisions(scores, self.relevant, k) for k in CUTOFFS},
            **{f"r_at_{cutoff}": hits(of_ranks, cutoff) for cutoff in RECALLS},
        }

    def _chance(self) -> dict[str, float]:
        """Expected values of a random order."""
        clips, right = self.relevant.shape[1], self.relevant.sum(1)
        precisions = {k: [chance_average_precision(clips, k, n) for n in right] for k in CUTOFFS}
        found = {k: hypergeom.sf(0, clips, right, min(k, clips)) for k in RECALLS}
        return {
            **{f"map_at_{k}": float(np.mean(values)) for k, values in precisions.items()},
            **{f"r_at_{k}": float(np.mean(values)) for k, values in found.items()},
        }


def _interval(name: str, resamples: ClusterResamples, values: Floats) -> dict[str, float]:
    interval = resamples.interval(values)
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def as_text(table: pd.DataFrame) -> str:
    """The scores of `compare` as text for a terminal."""
    lines = [f"{'held out':9}{'chance':>8}  {'before':22}{'after':22}gain"]
    for row in table.to_dict("records"):
        cells = []
        for part, sign in (("before", ""), ("after", ""), ("gain", "+")):
            value, low, high = (row[f"{part}{end}"] for end in ("", "_low", "_high"))
            cells.append(f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]")
        name = NAMES[row["metric"]]
        lines.append(f"{name:9}{row['chance']:8.3f}  {cells[0]:22}{cells[1]:22}{cells[2]}")
    return "\n".join(lines)


def verdict(table: pd.DataFrame) -> str:
    """A sentence about the gain in mAP@10, and a caution where there are few recordings."""
    row = table.iloc[0]
    queries, recordings = int(row["queries"]), int(row["recordings"])
    sentences = []
    if recordings < FEW:
        sentences.append(
            f"{recordings} recordings held out are too few to tell: the intervals themselves are "
            f"uncertain below {FEW}."
        )
    elif row["gain_low"] > 0:
        sentences.append("The adapted model is better on recordings that it has not heard.")
    elif row["gain_high"] < 0:
        sentences.append("The adapted model is WORSE on recordings that it has not heard.")
    else:
        sentences.append(
            f"{recordings} recordings with {queries} captions are too few to tell whether the "
            "adapted model is better: the gain's interval holds 0."
        )
    if recordings <= max(RECALLS):
        sentences.append(f"Of {recordings} recordings the first {max(RECALLS)} are all: R@10 is 1.")
    return " ".join(sentences)
