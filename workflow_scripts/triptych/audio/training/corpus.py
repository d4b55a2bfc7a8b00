"""From the tables of a corpus to the pairs that are trained on and the splits that are embedded."""

from collections.abc import Sequence
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


def read_pairs(
    manifest: StrPath,
    captions: Sequence[StrPath],
    datasets: Sequence[str] | None = None,
    variations: StrPath | None = None,
    one_caption: Sequence[str] = (),
) -> list[Pair]:
    """Every training clip of a manifest with each of its captions, in the order of both tables.

    datasets: those to take alone; variations: table of captions that may stand in for one (clip,
    position, variation, caption); one_caption: data sets of whose clips only the first caption
    counts. Raises InputError for training clips without caption.
    """
    table = read_table(manifest)
    table = table[table["role"] == "train"]
    if datasets is not None:
        table = table[table["dataset"].isin(datasets)]
    captions_by_clip = _captions_of(captions)
    alternatives = {} if variations is None else _variations(variations)
    if silent := [clip for clip in table["clip"] if clip not in captions_by_clip]:
        raise InputError(
            f"{len(silent)} training clips of {manifest} have no caption in "
            f"{', '.join(map(str, captions))}, the first is {silent[0]!r}"
        )
    return [
        Pair(clip, position, caption, alternatives.get((clip, position), ()))
        for clip, dataset in zip(table["clip"], table["dataset"], strict=True)
        for position, caption in captions_by_clip[clip][: 1 if dataset in one_caption else None]
    ]


def read_splits(
    manifest: StrPath, captions: Sequence[StrPath], queries: StrPath | None
) -> dict[str, Queries]:
    """The splits that a corpus keeps for evaluation, by role. queries: the challenge's captions."""
    table = read_table(manifest)
    captions_by_clip = _captions_of(captions)
    splits = {}
    for role in EVALUATED:
        clips = table["clip"][table["role"] == role].tolist()
        if not clips:
            continue
        if role == "challenge":
            texts = [] if queries is None else read_table(queries)["caption"].tolist()
            truth = [""] * len(texts)
        else:
            texts = [caption for clip in clips for _, caption in captions_by_clip.get(clip, [])]
            truth = [clip for clip in clips for _ in captions_by_clip.get(clip, [])]
        if texts:
            splits[role] = Queries(clips, texts, truth)
    return splits


def _captions_of(files: Sequence[StrPath]) -> dict[str, list[tuple[int, str]]]:
    """Positions and captions of each clip, by position."""
    table = pd.concat(list(map(read_table, files)), ignore_index=True)
    by_clip: dict[str, list[tuple[int, str]]] = {}
    columns = (table[name] for name in ("clip", "position", "caption"))
    for clip, position, caption in zip(*columns, strict=True):
        by_clip.setdefault(clip, []).append((int(position), caption))
    return {clip: sorted(captions) for clip, captions in by_clip.items()}


def _variations(file: StrPath) -> dict[tuple[str, int], tuple[str, ...]]:
    table = read_table(file)
    ordered = table.assign(number=table["variation"].astype(int)).sort_values("number")
    by_caption: dict[tuple[str, int], list[str]] = {}
    columns = (ordered[name] for name in ("clip", "position", "caption"))
    for clip, position, caption in zip(*columns, strict=True):
        by_caption.setdefault((clip, int(position)), []).append(caption)
    return {key: tuple(captions) for key, captions in by_caption.items()}
