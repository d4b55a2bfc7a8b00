"""From the tables of a corpus to the pairs that are trained on and the splits that are embedded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from triptych.audio.data.tables import read_table
from triptych.audio.training.batches import Pair
from triptych.core.errors import InputError

StrPath = str | Path

EVALUATED = ("validation", "evaluation", "challenge")
"""Roles of clips that a model may be asked about."""


@dataclass(frozen=True)
class Queries:
    """The clips of a split and its captions as queries; clip "" if the answer is not published."""

    clips: list[str]
    captions: list[str]
    query_clips: list[str]


@dataclass(frozen=True)
class Corpus:
    """Files of what is trained on and asked about.

    captions: of all data sets; queries: the challenge's; variations: for runs whose captions are
    "gpt", in the columns clip, position, variation, caption; one_caption: data sets of whose
    captions a training clip has its first one alone.
    """

    manifest: StrPath
    captions: Sequence[StrPath]
    shards: Sequence[StrPath]
    queries: StrPath | None = None
    variations: StrPath | None = None
    one_caption: Sequence[str] = ()

    def pairs(self, datasets: Sequence[str] | None, captions: str) -> list[Pair]:
        """Every training clip with each of its captions, in the order of both tables.

        datasets: those to take alone; captions: "gpt" for variations that may stand in. Raises
        InputError for training clips without caption.
        """
        table = read_table(self.manifest)
        table = table[table["role"] == "train"]
        if datasets is not None:
            table = table[table["dataset"].isin(datasets)]
        by_clip = self._captions()
        variations: dict[tuple[str, int], tuple[str, ...]] = {}
        if captions == "gpt" and self.variations is not None:
            variations = _variations(self.variations)
        if silent := [clip for clip in table["clip"] if clip not in by_clip]:
            raise InputError(
                f"{len(silent)} training clips of {self.manifest} have no caption in "
                f"{', '.join(map(str, self.captions))}, the first is {silent[0]!r}"
            )
        return [
            Pair(clip, position, caption, variations.get((clip, position), ()))
            for clip, dataset in zip(table["clip"], table["dataset"], strict=True)
            for position, caption in by_clip[clip][: 1 if dataset in self.one_caption else None]
        ]

    def splits(self) -> dict[str, Queries]:
        """The splits that the corpus keeps for evaluation, by role."""
        table = read_table(self.manifest)
        by_clip = self._captions()
        splits = {}
        for role in EVALUATED:
            clips = table["clip"][table["role"] == role].tolist()
            if not clips:
                continue
            pairs = [(clip, caption) for clip in clips for _, caption in by_clip.get(clip, [])]
            if role == "challenge" and self.queries is not None:
                pairs = [("", caption) for caption in read_table(self.queries)["caption"]]
            if pairs:
                truth, texts = map(list, zip(*pairs, strict=True))
                splits[role] = Queries(clips, texts, truth)
        return splits

    def _captions(self) -> dict[str, list[tuple[int, str]]]:
        """Positions and captions of each clip, by position."""
        table = pd.concat(list(map(read_table, self.captions)), ignore_index=True)
        by_clip: dict[str, list[tuple[int, str]]] = {}
        for clip, position, caption in _rows(table, "clip", "position", "caption"):
            by_clip.setdefault(clip, []).append((int(position), caption))
        return {clip: sorted(captions) for clip, captions in by_clip.items()}


def _variations(file: StrPath) -> dict[tuple[str, int], tuple[str, ...]]:
    table = read_table(file)
    ordered = table.assign(number=table["variation"].astype(int)).sort_values("number")
    by_caption: dict[tuple[str, int], list[str]] = {}
    for clip, position, caption in _rows(ordered, "clip", "position", "caption"):
        by_caption.setdefault((clip, int(position)), []).append(caption)
    return {key: tuple(captions) for key, captions in by_caption.items()}


def _rows(table: pd.DataFrame, *columns: str) -> Iterable[tuple[str, ...]]:
    return zip(*(table[column] for column in columns), strict=True)
