"""Facts about the training data and the data sets' lists (Section 2.4)."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.audio.data_sizes import AUDIOCAPS, CLOTHO, WAVCAPS, Clips, clips_of, trained_on
from triptych.audio.report.rows import DATASET_LABELS, AudioStudy

DATASETS = tuple(DATASET_LABELS)
DEVELOPMENT, TEMPLATE = "development", "template"
PUBLISHED = pd.DataFrame(
    [
        ("clotho", DEVELOPMENT, CLOTHO[DEVELOPMENT].count, CLOTHO[DEVELOPMENT].captions),
        ("audiocaps", "all", AUDIOCAPS["all"].count, AUDIOCAPS["all"].captions),
        *(("wavcaps", part, clips.count, clips.captions) for part, clips in WAVCAPS.items()),
    ],
    columns=["dataset", "split", "recordings", "captions"],
).set_index(["dataset", "split"])
"""What the report trains on; AudioCaps' splits together."""
CAPTIONS = PUBLISHED["captions"].groupby("dataset").sum()
NEW_CAPTIONS = 5 * int(CAPTIONS["clotho"])
LABELLED = (DEVELOPMENT, "validation", "evaluation")
LISTED = {
    **PUBLISHED["recordings"].groupby("dataset").sum(),
    "clotho": sum(CLOTHO[split].count for split in LABELLED),
}
"""Published recordings with captions."""
PAPER_MODEL = "gpt-3.5-turbo"
WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
"""A word: "high-pitched" is one, a dash or an ampersand alone is none."""


def read_data(
    frames: Mapping[str, pd.DataFrame], study: AudioStudy, trained: Mapping[str, Any]
) -> dict[str, Any]:
    """The facts of what models were trained on, from counts.csv and manifest.csv of the evaluated
    corpus, every captions.csv, and variations.csv and usage.csv of the new captions. trained:
    of `Workflow.claims`."""
    counts, manifest, usage = frames["counts"], frames["manifest"], frames["usage"].iloc[0]
    splits = counts["split"].where(counts["dataset"] != "audiocaps", "all")
    # Trained on or left out as leaks; of splits that are not trained on nothing counts.
    available = (counts["train"] + counts["excluded"]).where(counts["train"] > 0, 0)
    used = manifest.loc[manifest["role"] == "train", "clip"]
    captions, new = (
        frames[name].loc[frames[name]["clip"].isin(used), "clip"]
        for name in ("captions", "variations")
    )
    datasets = dataset_of(captions)
    if trained["audiocaps_captions"] == "first":
        datasets = datasets[(datasets != "audiocaps") | ~captions.duplicated()]
    return _data_facts(
        study,
        trained,
        recordings=available.groupby([counts["dataset"], splits]).sum(),
        captions=datasets.value_counts(),
        new=int(new.str.startswith(f"clotho/{DEVELOPMENT}/").sum()),
        leaked=int(counts["leaked"].sum()),
        writer=(usage["backend"], usage["model"]),
    )


def planned_data(
    config: Mapping[str, Any], study: AudioStudy, trained: Mapping[str, Any]
) -> dict[str, Any]:
    """The facts of what models will be trained on, from published numbers of the data that a config
    names. config: the section `audio`."""
    parts = {
        (dataset, split): part.count
        for dataset in DATASETS
        for split, part in clips_of(config, dataset).items()
    }
    chosen = trained_on(config, config["evaluated"], DATASETS)
    sizes = pd.DataFrame([(dataset, part.captions) for dataset, part in chosen])
    captions = sizes.groupby(0)[1].sum()
    settings = config["captions"]
    return _data_facts(
        study,
        trained,
        recordings=pd.Series(parts),
        captions=captions,
        new=settings["variations"] * captions.get("clotho", 0),
        leaked=0,
        writer=(settings["backend"], settings["model"]),
    )


def _data_facts(
    study: AudioStudy,
    trained: Mapping[str, Any],
    *,
    recordings: pd.Series,
    captions: pd.Series,
    new: int,
    leaked: int,
    writer: tuple[str, str],
) -> dict[str, Any]:
    """Facts of the evaluated corpus.

    recordings: by data set and split; captions: of the clips trained on, by data set; new: new
    captions of Clotho's development split; leaked: clips trained on that are recordings of a
    protected split; writer: back end and model of the new captions.
    """
    backend, model = writer
    answered = model.split(", ")  # several, where a service changed on the way
    of_paper = backend != "openai" or all(name.startswith(PAPER_MODEL) for name in answered)
    expected = CAPTIONS.copy()
    if trained["audiocaps_captions"] == "first":
        expected["audiocaps"] = AUDIOCAPS["all"].count
    shares = recordings.reindex(PUBLISHED.index, fill_value=0) / PUBLISHED["recordings"]
    facts: dict[str, Any] = {
        "policy": {trained["exclude"]},
        "leaked": leaked if trained["exclude"] == "strict" else 0,
        "precision": set(trained["precisions"]),
        "written": backend != TEMPLATE,
        "writer": {PAPER_MODEL if of_paper else model},
        "new captions": NEW_CAPTIONS if study.synthesised else new,
    }
    for dataset in DATASETS:
        source = _source(study, dataset)
        # Of what is not there it has been said already.
        is_published = source == "published"
        facts[f"{dataset} source"] = {source}
        facts[f"{dataset} recordings"] = shares[dataset].min() if is_published else 1
        share = captions.get(dataset, 0) / expected[dataset]
        facts[f"{dataset} captions"] = share if is_published else 1
    return facts


def _source(study: AudioStudy, dataset: str) -> str:
    source = study.sources.get(dataset, "none")
    return {"synthesised": source, "none": "left out"}.get(source, "published")


def counted(
    clips: pd.DataFrame, captions: pd.DataFrame, queries: pd.DataFrame, unfiltered: pd.DataFrame
) -> dict[str, dict[str, float]]:
    """Numbers of each data set by the keys of `claims.STATED`, from every clips.csv and
    captions.csv, the challenge's queries.csv and the new captions as they were written."""
    lists = dict(iter(clips.groupby("dataset")))
    numbers = {
        str(dataset): _numbers(lists[dataset], rows)
        for dataset, rows in captions.groupby(dataset_of(captions["clip"]))
        if dataset in DATASETS and dataset in lists
    }
    if "clotho" in numbers:
        new = unfiltered["clip"].str.startswith(f"clotho/{DEVELOPMENT}/")
        numbers["clotho"] |= {"asked": float(len(queries)), "new captions": float(new.sum())}
    return numbers


def _numbers(clips: pd.DataFrame, captions: pd.DataFrame) -> dict[str, float]:
    texts = captions["caption"].dropna()
    words = texts.map({caption: len(WORD.findall(caption)) for caption in texts.unique()})
    of_clip = captions.groupby("clip").size()
    seconds = pd.to_numeric(clips.loc[clips["split"].isin(LABELLED), "seconds"])
    numbers = {
        **clips["split"].value_counts(),
        "all": len(clips),
        "labelled": clips["clip"].isin(of_clip.index).sum(),
        "fewest captions": of_clip.min(),
        "most captions": of_clip.max(),
        "fewest words": words.min(),
        "most words": words.max(),
        "mean words": words.mean(),
        "shortest": seconds.min(),
        "longest": seconds.max(),
    }
    return {str(name): float(value) for name, value in numbers.items() if pd.notna(value)}


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
    facts: dict[str, Any] = {}
    for dataset in DATASETS:
        source = _source(study, dataset)
        if source == "published" and dataset not in lists:
            source = "left out"
        facts[f"{dataset} list"] = {source}
        is_published = source == "published"
        facts[f"{dataset} listed"] = lists[dataset]["labelled"] if is_published else LISTED[dataset]
    new = lists.get("clotho", {}).get("new captions", 0)
    facts["listed captions"] = new if facts["clotho list"] == {"published"} else NEW_CAPTIONS
    return facts


def dataset_of(clips: pd.Series) -> pd.Series:
    """The data set of each clip, with which its name begins."""
    return clips.map(lambda clip: clip.partition("/")[0])
