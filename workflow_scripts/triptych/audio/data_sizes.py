"""Sizes of the audio study's data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
    parts = {"clotho": CLOTHO, "audiocaps": AUDIOCAPS, "wavcaps": WAVCAPS}[dataset]
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
