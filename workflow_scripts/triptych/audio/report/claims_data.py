"""The claims on the data sets' lists (Section 2.4), and what claims on models need of the data."""

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from triptych.audio.data_sizes import (
    COUNTED,
    PUBLISHED,
    Clips,
    clips_of,
    trained_on,
)
from triptych.audio.report.rows import DATASET_LABELS, AudioStudy
from triptych.core.config import read_yaml
from triptych.core.provenance import SOURCE
from triptych.report.claims import (
    ENOUGH_DATA,
    Finding,
    Need,
    all_of,
    at_least,
    claim,
    one_of,
)

PAPER = read_yaml(SOURCE / "config/paper/audio.yaml")["audio"]
"""The report's values."""
DATASETS = tuple(DATASET_LABELS)
DEVELOPMENT, TEMPLATE, STRICT = "development", "template", "strict"
TRAINED = {**PUBLISHED, "clotho": {DEVELOPMENT: PUBLISHED["clotho"][DEVELOPMENT]}}
"""What the report trains on, by data set and part; AudioCaps' splits together."""
CAPTIONS = {name: sum(part.captions for part in parts.values()) for name, parts in TRAINED.items()}
NEW_CAPTIONS = PAPER["captions"]["variations"] * CAPTIONS["clotho"]
LABELLED = (DEVELOPMENT, "validation", "evaluation")
LISTED = {
    **{name: sum(part.count for part in parts.values()) for name, parts in TRAINED.items()},
    "clotho": sum(PUBLISHED["clotho"][split].count for split in LABELLED),
}
"""Published recordings with captions."""
PAPER_MODEL = PAPER["captions"]["model"]
PRECISIONS = ("float32", "tf32", "fp16", "bf16")
POLICIES = ("none", STRICT)
WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
"""A word: "high-pitched" is one, a dash or an ampersand alone is none."""
with (SOURCE / "resources/published/audio_claims.csv").open(encoding="utf-8") as _lines:
    PRINTED = {row["id"]: row["published"] for row in csv.DictReader(_lines)}
"""What the report prints of each claim."""
PRINTED_COUNTS = {
    dataset: [
        int(count.replace(",", ""))
        for count in re.findall(r"\d[\d,]*\d", PRINTED[f"audio-data-{dataset}"])
    ]
    for dataset in DATASETS
}
LEADERBOARD = 1000
HUMAN_CAPTIONS = {"clotho": 5, "audiocaps": 1, "wavcaps": 1}
SECONDS, ROUNDED = (10, 30), 0.05
WORDS = (8, 20)
MEAN_WORDS = {"audiocaps": 9.8, "wavcaps": 7.8}
NEW = 96_000
AGREES = (
    "states agrees with what the lists hold, before anything was left out: counts within "
    f"{COUNTED:.1%}, means as printed, and a range holds both the smallest and the largest. A word "
    "is a run of letters and digits, hyphens and apostrophes inside it."
)

# What models are trained on.


@dataclass(frozen=True)
class Data:
    """Numbers of the evaluated corpus' data, as published data have them or as a run counted them.

    recordings: by data set and split; captions: of the clips trained on, by data set; new: new
    captions of Clotho's development split; leaked: clips trained on that are recordings of a
    protected split; backend, model: of the new captions; precisions: of both trainings.
    """

    recordings: Mapping[Any, int]
    captions: Mapping[Any, int]
    new: int
    leaked: int
    backend: str
    model: str
    precisions: Collection[str]


def planned_data(plan: Any) -> Data:
    """The data that a config names. plan: a Workflow."""
    config = plan.config
    chosen, settings = trained_on(config, config["evaluated"], DATASETS), config["captions"]
    captions = {
        name: sum(part.captions for dataset, part in chosen if dataset == name) for name in DATASETS
    }
    return Data(
        recordings={
            (dataset, split): part.count
            for dataset in DATASETS
            for split, part in clips_of(config, dataset).items()
        },
        captions=captions,
        new=settings["variations"] * captions["clotho"],
        leaked=0,
        backend=settings["backend"],
        model=settings["model"],
        precisions=plan.trained["precisions"],
    )


def read_data(
    frames: Mapping[str, pd.DataFrame], plan: Any, precisions: Collection[str] = ()
) -> Data:
    """The data that a run was trained on, from counts.csv and manifest.csv of the evaluated corpus,
    every captions.csv, and variations.csv and usage.csv of the new captions. precisions: those that
    its jobs chose."""
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
    if plan.trained["audiocaps_captions"] == "first":
        datasets = datasets[(datasets != "audiocaps") | ~captions.duplicated()]
    recordings: dict[Any, int] = available.groupby([counts["dataset"], splits]).sum().to_dict()
    lines: dict[Any, int] = datasets.value_counts().to_dict()
    return Data(
        recordings=recordings,
        captions=lines,
        new=int(new.str.startswith(f"clotho/{DEVELOPMENT}/").sum()),
        leaked=int(counts["leaked"].sum()),
        backend=usage["backend"],
        model=usage["model"],
        precisions=precisions or plan.trained["precisions"],
    )


def has_no_leaks(plan: Any, data: Data) -> Iterator[Need]:
    """Needs of each claim on trained models."""
    policy = plan.trained["exclude"]
    leaked = data.leaked if policy == STRICT else 0
    yield one_of("all leaks as in the report or none (strict)", [policy], POLICIES)
    what = "no leak in training where leaks are kept out"
    yield Need(what, not leaked, f"{leaked:,} here")
    yield one_of("a stated precision", data.precisions, PRECISIONS)


def is_written(backend: str, substitute: str = "") -> Need:
    """Need new captions by a language model."""
    what = "new captions by a language model, not by a template"
    return Need(what, backend != TEMPLATE, substitute=substitute)


def has_new_captions(study: AudioStudy, data: Data) -> Iterator[Need]:
    """Need the report's new captions."""
    answered = data.model.split(", ")  # several, where a service changed on the way
    papers = data.backend != "openai" or all(name.startswith(PAPER_MODEL) for name in answered)
    new = NEW_CAPTIONS if study.synthesised else data.new
    yield is_written(data.backend, "captions by a template")
    what = "nine tenths of the new captions"
    yield at_least(what, new, ENOUGH_DATA * NEW_CAPTIONS, "fewer new captions")
    model = PAPER_MODEL if papers else data.model
    yield one_of(
        f"new captions by {PAPER_MODEL}", [model], [PAPER_MODEL], "captions by another model"
    )


def has_recordings(
    plan: Any, study: AudioStudy, data: Data, datasets: Sequence[str] = DATASETS
) -> Iterator[Need]:
    """Need the report's recordings."""
    expected = dict(CAPTIONS)
    if plan.trained["audiocaps_captions"] == "first":
        expected["audiocaps"] = LISTED["audiocaps"]
    for name in datasets:
        shares = [
            data.recordings.get((name, part), 0) / clips.count
            for part, clips in TRAINED[name].items()
        ]
        title, source = DATASET_LABELS[name], source_of(study, name)
        # Of what is not there it has been said already.
        there = source == "published"
        share = f"nine tenths of {title}"
        recordings = min(shares) if there else 1
        captions = data.captions.get(name, 0) / expected[name] if there else 1
        yield one_of(f"{title} as published", [source], ["published"], "other recordings")
        yield at_least(share, recordings, ENOUGH_DATA, "fewer recordings")
        yield at_least(f"{share}'s captions", captions, ENOUGH_DATA, "fewer recordings")


def source_of(study: AudioStudy, dataset: str) -> str:
    """Whether a data set is published, synthesised or left out."""
    source = study.sources.get(dataset, "none")
    return {"synthesised": source, "none": "left out"}.get(source, "published")


def dataset_of(clips: pd.Series) -> pd.Series:
    """The data set of each clip, with which its name begins."""
    return clips.map(lambda clip: clip.partition("/")[0])


# What the data sets' lists hold.

Lists = Mapping[str, Mapping[str, float]]
"""Numbers of each data set, by their keys in `stated`."""


class Stated(NamedTuple):
    """A number that the report states of a data set: its key among `Lists`, its name, the range
    that agrees with it, and how it is printed."""

    key: str
    what: str
    low: float
    high: float
    printed: str


def _count(key: str, what: str, count: int) -> Stated:
    return Stated(key, what, count * (1 - COUNTED), count * (1 + COUNTED), f"{count:,}")


def _range(key: str, what: str, low: float, high: float, rounded: float = 0) -> Stated:
    printed = f"{low}" if low == high else f"{low} to {high}"
    return Stated(key, what, low - rounded, high + rounded, printed)


def stated(dataset: str) -> list[Stated]:
    """The numbers that the report states of a data set."""
    captions = HUMAN_CAPTIONS[dataset]
    of_recording = [
        _range(f"{which} captions", f"{which} captions of a recording", captions, captions)
        for which in ("fewest", "most")
    ]
    if dataset != "clotho":
        mean = MEAN_WORDS[dataset]
        return [
            _count("all", "recordings", PRINTED_COUNTS[dataset][0]),
            *of_recording,
            _range("mean words", "words a caption", mean, mean, ROUNDED),
        ]
    training, validation, test = PRINTED_COUNTS[dataset]
    return [
        _count(DEVELOPMENT, "recordings of the training split", training),
        _count("validation", "of the validation split", validation),
        _count("evaluation", "of the test split", test),
        _count("challenge", "of the leaderboard split", LEADERBOARD),
        _count("asked", "captions of the leaderboard split", LEADERBOARD),
        *of_recording,
        _range("shortest", "seconds of the shortest recording", *SECONDS, ROUNDED),
        _range("longest", "seconds of the longest", *SECONDS, ROUNDED),
        _range("fewest words", "words of the shortest caption", *WORDS),
        _range("most words", "words of the longest", *WORDS),
        _count("new captions", "new captions", NEW),
    ]


def counted(
    clips: pd.DataFrame, captions: pd.DataFrame, queries: pd.DataFrame, unfiltered: pd.DataFrame
) -> dict[str, dict[str, float]]:
    """`Lists` from every clips.csv and captions.csv, the challenge's queries.csv and the new
    captions as they were written."""
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
    """`Lists` as far as a config says: how many recordings and new captions."""
    totals = {}
    for dataset in DATASETS:
        if parts := clips_of(config, dataset):
            labelled = sum(
                part.count for split, part in parts.items() if split != "retrieval_audio"
            )
            new = config["captions"]["variations"] * parts.get(DEVELOPMENT, Clips(0, 0)).captions
            totals[dataset] = {"labelled": float(labelled), "new captions": float(new)}
    return totals


def _listed(
    dataset: str, study: AudioStudy, lists: Lists, keys: Collection[str], backend: str
) -> Iterator[Need]:
    """Need the whole of a data set's published list. keys: numbers that are known of it."""
    title, source, own = DATASET_LABELS[dataset], source_of(study, dataset), lists.get(dataset, {})
    source = "left out" if source == "published" and not own else source
    # Of what is not there it has been said already.
    there = source == "published"
    listed = own["labelled"] if there else LISTED[dataset]
    yield one_of(f"{title} as published", [source], ["published"])
    yield at_least(f"nine tenths of {title}", listed, ENOUGH_DATA * LISTED[dataset])
    yield all_of("each number", keys, [statement.key for statement in stated(dataset)])
    if dataset == "clotho":
        new = own["new captions"] if there else NEW_CAPTIONS
        yield at_least("nine tenths of the new captions", new, ENOUGH_DATA * NEW_CAPTIONS)
        yield is_written(backend)


def of_lists(plan: Any, dataset: str) -> Iterator[Need]:
    """Needs of a claim on a data set's lists. plan: a Workflow."""
    study, keys = AudioStudy.read(**plan.study), [number.key for number in stated(dataset)]
    return _listed(dataset, study, planned_lists(plan.config), keys, study.backend)


@claim("audio-data-clotho", lambda plan: of_lists(plan, "clotho"))
def clotho_is_as_stated(tables: Any) -> Finding:
    """Every number that Section 2.4.1 and 2.4.4 {AGREES} Lengths are those that Clotho's metadata
    give."""
    return lists_agree(tables, "clotho")


@claim("audio-data-audiocaps", lambda plan: of_lists(plan, "audiocaps"))
def audiocaps_is_as_stated(tables: Any) -> Finding:
    """Every number that Section 2.4.2 {AGREES} Its ten seconds aren't looked at: the lists don't
    give lengths."""
    return lists_agree(tables, "audiocaps")


@claim("audio-data-wavcaps", lambda plan: of_lists(plan, "wavcaps"))
def wavcaps_is_as_stated(tables: Any) -> Finding:
    """Every number that Section 2.4.3 {AGREES}"""
    return lists_agree(tables, "wavcaps")


def lists_agree(tables: Any, dataset: str) -> Finding:
    """Numbers of a data set's lists against those that the report states (Section 2.4)."""
    agrees, numbers = {}, tables.lists.get(dataset, {})
    for statement in stated(dataset):
        if statement.key in numbers:
            value = numbers[statement.key]
            shown = f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
            text = f"{statement.what} {shown}, stated {statement.printed}"
            agrees[text] = statement.low <= value <= statement.high
    return Finding(
        "; ".join(agrees) or f"no list of {DATASET_LABELS[dataset]}",
        failures=[text for text, agree in agrees.items() if not agree],
        needs=[*_listed(dataset, tables.study, tables.lists, numbers, tables.data.backend)],
    )


CLAIMS = (clotho_is_as_stated, audiocaps_is_as_stated, wavcaps_is_as_stated)
