"""Sizes of the audio study's data."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from triptych.core.errors import InputError


@dataclass(frozen=True)
class Clips:
    """Numbers of recordings and of their captions."""

    count: int
    captions: int


CLOTHO = {
    "development": Clips(3839, 19_195),
    "validation": Clips(1045, 5_225),
    "evaluation": Clips(1045, 5_225),
    "retrieval_audio": Clips(1000, 1_000),
}
"""Clotho v2.1 and the challenge's set, as counted from its files."""
AUDIOCAPS = {"all": Clips(51_308, 49_838 + 2_475 + 4_875)}
WAVCAPS = {
    "AudioSet_SL": Clips(108_317, 108_317),
    "BBC_Sound_Effects": Clips(31_201, 31_201),
    "FreeSound": Clips(262_300, 262_300),
    "SoundBible": Clips(1_232, 1_232),
}
"""Table 1 of Mei et al. 2023 (arXiv:2303.17395)."""
PUBLISHED = {"clotho": CLOTHO, "audiocaps": AUDIOCAPS, "wavcaps": WAVCAPS}
COUNTED = 0.005
"""How far a count may be from the printed one, as a share: the report rounds 3,839 to 3840."""


def clips_of(config: Mapping[str, Any], dataset: str) -> dict[str, Clips]:
    """A data set's parts by name: published, or as the config has them synthesised."""
    source = config["sources"][dataset]
    if source["source"] == "none":
        return {}
    if source["source"] == "synthesised":
        synthesis = config["synthesis"]
        if dataset != "clotho":
            return {"all": Clips(synthesis[dataset], synthesis[dataset])}
        named = {"retrieval_audio": "challenge"}
        counts = {split: synthesis[named.get(split, split)] for split in CLOTHO}
        return {split: Clips(count, 5 * count) for split, count in counts.items()}
    parts = PUBLISHED[dataset]
    return {name: parts[name] for name in source.get("parts", parts)}


def trained_on(
    config: Mapping[str, Any], corpus: str, datasets: tuple[str, ...]
) -> list[tuple[str, Clips]]:
    """Data set and clips of each part that a corpus trains on, before leaks are left out."""
    chosen = config["corpora"][corpus]
    first = {"audiocaps"} if chosen.get("audiocaps_captions") == "first" else set()
    return [
        (dataset, Clips(clips.count, clips.count) if dataset in first else clips)
        for dataset in datasets
        for split, clips in clips_of(config, dataset).items()
        if dataset != "clotho" or split in chosen["splits"]
    ]


def judged_by(config: Mapping[str, Any], corpus: str) -> dict[str, Clips]:
    """The splits of Clotho that a corpus doesn't train on."""
    splits = config["corpora"][corpus]["splits"]
    return {
        split: clips for split, clips in clips_of(config, "clotho").items() if split not in splits
    }


def compare_counts(
    dataset: str, parts: Iterable[str], recordings: Iterable[str], captions: Iterable[str]
) -> list[dict[str, Any]]:
    """Rows with the numbers of recordings and captions of each part, beside the published ones, and
    the problem where they differ.

    recordings, captions: the part of each that is listed. Raises InputError for a part without any.
    """
    published = PUBLISHED[dataset]
    listed = {"recordings": Counter(recordings), "captions": Counter(captions)}
    if "all" in published:
        listed = {what: Counter({"all": counts.total()}) for what, counts in listed.items()}
    rows = []
    for part in parts:
        clips = published["retrieval_audio" if part == "challenge" else part]
        expected = {"recordings": clips.count, "captions": clips.captions}
        row: dict[str, Any] = {"part": part}
        problems = []
        for what, counts in listed.items():
            row |= {what: counts[part], f"published_{what}": expected[what]}
            if not counts[part]:
                raise InputError(
                    f"{dataset}: the tables list no {what} of {part}; fetch them again"
                )
            if abs(counts[part] - expected[what]) > COUNTED * expected[what]:
                problems.append(f"{counts[part]:,} {what}, published are {expected[what]:,}")
        rows.append({**row, "problem": "; ".join(problems)})
    return rows
