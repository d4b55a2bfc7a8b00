"""Facts about the training data and the data sets' lists (Section 2.4)."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.audio.data_sizes import AUDIOCAPS, CLOTHO, WAVCAPS, Clips, clips_of, trained_on
from triptych.audio.report.labels import DATASET_LABELS
from triptych.audio.report.rows import AudioStudy

DATASETS = ("clotho", "audiocaps", "wavcaps")
SYNTHESISED, LEFT_OUT, DEVELOPMENT, TEMPLATE = "synthesised", "none", "development", "template"
CLIPS = {
    ("clotho", DEVELOPMENT): CLOTHO[DEVELOPMENT].count,
    ("audiocaps", ""): AUDIOCAPS["all"].count,
    **{("wavcaps", part): clips.count for part, clips in WAVCAPS.items()},
}
"""Published recordings by data set and split, or of all splits together."""
CAPTIONS = {
    "clotho": CLOTHO[DEVELOPMENT].captions,
    "audiocaps": AUDIOCAPS["all"].captions,
    "wavcaps": sum(clips.captions for clips in WAVCAPS.values()),
}
NEW_CAPTIONS = 5 * CAPTIONS["clotho"]
LABELLED = ("development", "validation", "evaluation")
LISTED = {
    "clotho": sum(CLOTHO[split].count for split in LABELLED),
    "audiocaps": AUDIOCAPS["all"].count,
    "wavcaps": sum(part.count for part in WAVCAPS.values()),
}
"""Published recordings with captions."""
PAPER_MODEL = "gpt-3.5-turbo"
WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
"""A word: "high-pitched" is one, a dash or an ampersand alone is none."""


def read_data(
    frames: Mapping[str, pd.DataFrame], sources: Mapping[str, str], trained: Mapping[str, Any]
) -> dict[str, Any]:
    """The facts of what models were trained on, from counts.csv and manifest.csv of the evaluated
    corpus, every captions.csv, and variations.csv and usage.csv of the new captions. trained:
    `Workflow.trained`."""
    counts, manifest, usage = frames["counts"], frames["manifest"], frames["usage"].iloc[0]
    # Trained on or left out as leaks; of splits that are not trained on nothing counts.
    available = counts["train"].where(counts["train"] == 0, counts["train"] + counts["excluded"])
    clips: dict[tuple[str, str], int] = {}
    for dataset, split, count in zip(counts["dataset"], counts["split"], available, strict=True):
        for key in ((str(dataset), str(split)), (str(dataset), "")):
            clips[key] = clips.get(key, 0) + int(count)
    used = set(manifest.loc[manifest["role"] == "train", "clip"])
    captions, new = (
        frames[name].loc[frames[name]["clip"].isin(used), "clip"]
        for name in ("captions", "variations")
    )
    datasets = _dataset_of(captions)
    if trained.get("audiocaps_captions") == "first":
        datasets = datasets[~((datasets == "audiocaps") & captions.duplicated())]
    return _data_facts(
        sources,
        trained,
        clips=clips,
        captions={str(name): int(count) for name, count in datasets.value_counts().items()},
        new=int(new.str.startswith(f"clotho/{DEVELOPMENT}/").sum()),
        leaked=int(counts["leaked"].sum()),
        writer=(str(usage["backend"]), str(usage["model"])),
    )


def planned_data(
    config: Mapping[str, Any], sources: Mapping[str, str], trained: Mapping[str, Any]
) -> dict[str, Any]:
    """The facts of what models will be trained on, from published numbers of the data that a config
    names. config: the section `audio`."""
    captions = dict.fromkeys(DATASETS, 0)
    for dataset, part in trained_on(config, config["evaluated"], DATASETS):
        captions[dataset] += part.captions
    clips: dict[tuple[str, str], int] = {}
    for dataset in DATASETS:
        for split, part in clips_of(config, dataset).items():
            clips[dataset, split] = part.count
            clips[dataset, ""] = clips.get((dataset, ""), 0) + part.count
    settings = config["captions"]
    return _data_facts(
        sources,
        trained,
        clips=clips,
        captions=captions,
        new=settings["variations"] * captions["clotho"],
        leaked=0,
        writer=(settings["backend"], settings["model"]),
    )


def _data_facts(
    sources: Mapping[str, str],
    trained: Mapping[str, Any],
    *,
    clips: Mapping[tuple[str, str], int],
    captions: Mapping[str, int],
    new: int,
    leaked: int,
    writer: tuple[str, str],
) -> dict[str, Any]:
    """Facts of the evaluated corpus.

    clips: recordings by data set and split, or "" for all; captions: of the clips trained on; new:
    new captions of Clotho's development split; leaked: clips trained on that are recordings of a
    protected split; writer: back end and model of the new captions.
    """
    expected = dict(CAPTIONS)
    if trained.get("audiocaps_captions") == "first":
        expected["audiocaps"] = AUDIOCAPS["all"].count
    backend, model = writer
    of_paper = backend != "openai" or model.startswith(PAPER_MODEL)
    facts: dict[str, Any] = {
        "policy": {trained["exclude"]},
        "leaked": leaked if trained["exclude"] == "strict" else 0,
        "precision": set(trained["precisions"]),
        "written": backend != TEMPLATE,
        "writer": {PAPER_MODEL if of_paper else model},
        "new captions": NEW_CAPTIONS if sources.get("clotho") == SYNTHESISED else new,
    }
    for dataset in DATASETS:
        source = _source(sources, dataset)
        shares = [clips.get(key, 0) / count for key, count in CLIPS.items() if key[0] == dataset]
        facts[f"{dataset} source"] = {source}
        # Of what is not there it has been said already.
        is_published = source == "published"
        facts[f"{dataset} recordings"] = min(shares) if is_published else 1
        share = captions.get(dataset, 0) / expected[dataset]
        facts[f"{dataset} captions"] = share if is_published else 1
    return facts


def _source(sources: Mapping[str, str], dataset: str) -> str:
    source = sources.get(dataset, LEFT_OUT)
    return {SYNTHESISED: SYNTHESISED, LEFT_OUT: "left out"}.get(source, "published")


def counted(
    clips: pd.DataFrame, captions: pd.DataFrame, asked: pd.DataFrame, unfiltered: pd.DataFrame
) -> dict[str, dict[str, float]]:
    """Numbers of each data set by the keys of `claims._STATED`, from every clips.csv and
    captions.csv, the challenge's queries.csv and the new captions as they were written."""
    by_dataset = {}
    lists = dict(iter(clips.groupby("dataset")))
    for dataset, rows in captions.groupby(_dataset_of(captions["clip"])):
        if dataset in DATASET_LABELS and dataset in lists:
            by_dataset[str(dataset)] = _numbers(lists[dataset], rows)
    if "clotho" in by_dataset:
        new = unfiltered["clip"].str.startswith(f"clotho/{DEVELOPMENT}/")
        by_dataset["clotho"] |= {"asked": float(len(asked)), "new captions": float(new.sum())}
    return by_dataset


def _numbers(clips: pd.DataFrame, captions: pd.DataFrame) -> dict[str, float]:
    parts = {str(split): float(count) for split, count in clips["split"].value_counts().items()}
    texts = captions["caption"].dropna()
    words = texts.map({caption: len(WORD.findall(caption)) for caption in texts.unique()})
    of_clip = captions.groupby("clip").size()
    seconds = pd.to_numeric(clips.loc[clips["split"].isin(LABELLED), "seconds"]).dropna()
    lengths = {"shortest": seconds.min(), "longest": seconds.max()} if len(seconds) else {}
    return {
        **parts,
        "all": float(len(clips)),
        "labelled": float(clips["clip"].isin(set(captions["clip"])).sum()),
        "fewest captions": float(of_clip.min()),
        "most captions": float(of_clip.max()),
        "fewest words": float(words.min()),
        "most words": float(words.max()),
        "mean words": float(words.mean()),
        **{name: float(value) for name, value in lengths.items()},
    }


def planned_lists(config: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """`counted` as far as a config says: how many recordings and new captions."""
    totals = {}
    for dataset in DATASETS:
        if parts := clips_of(config, dataset):
            labelled = sum(
                part.count for split, part in parts.items() if split != "retrieval_audio"
            )
            new = config["captions"]["variations"] * parts.get(DEVELOPMENT, Clips(0, 0)).captions
            totals[dataset] = {"labelled": float(labelled), "new captions": float(new)}
    return totals


def list_facts(lists: Mapping[str, Mapping[str, float]], study: AudioStudy) -> dict[str, Any]:
    """The facts of what the data sets' lists hold. lists: as `counted` returns them."""
    facts: dict[str, Any] = {"asked of GPT": study.backend != TEMPLATE}
    for dataset in DATASETS:
        source, values = _source(study.sources, dataset), lists.get(dataset)
        used = source == "published" and values is not None
        facts[f"{dataset} list"] = {
            "left out" if values is None and source == "published" else source
        }
        facts[f"{dataset} listed"] = values["labelled"] if used and values else LISTED[dataset]
    new = lists.get("clotho", {}).get("new captions", 0)
    facts["listed captions"] = new if facts["clotho list"] == {"published"} else NEW_CAPTIONS
    return facts


def _dataset_of(clips: pd.Series) -> pd.Series:
    return clips.map(lambda clip: clip.partition("/")[0])
