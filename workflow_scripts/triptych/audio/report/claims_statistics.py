"""What the report says of its data sets (Section 2.4), beside what their lists hold."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from triptych.audio.data_sizes import AUDIOCAPS, CLOTHO, WAVCAPS
from triptych.audio.report.claims_data import dataset_of
from triptych.audio.report.labels import DATASET_LABELS
from triptych.report.palette import label
from triptych.report.verdicts import Verdict, decide, few_data

WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
"""A word: "high-pitched" is one, a dash or an ampersand alone is none."""
COUNTED = 0.005
"""How far a count may be from the printed one, as a share: the report rounds 3,839 to 3840."""
SYNTHESISED, LEFT_OUT, TEMPLATE = "synthesised", "none", "template"
LABELLED = ("development", "validation", "evaluation")


@dataclass(frozen=True)
class Stated:
    """A number of the report: what it is of (a key of `Statistics.values`), its name, the range
    that agrees with it, and how it is printed."""

    key: str
    what: str
    low: float
    high: float
    printed: str

    def agrees(self, value: float) -> bool:
        """Whether a number found here is the printed one."""
        return self.low <= value <= self.high


def _count(key: str, what: str, count: int) -> Stated:
    return Stated(key, what, count * (1 - COUNTED), count * (1 + COUNTED), f"{count:,}")


def _mean_words(mean: float) -> Stated:
    return Stated("mean words", "words a caption", mean - 0.05, mean + 0.05, f"{mean}")


def _each(count: int) -> list[Stated]:
    return [
        Stated(f"{which} captions", f"{which} captions of a recording", count, count, str(count))
        for which in ("fewest", "most")
    ]


STATED: dict[str, tuple[str, list[Stated]]] = {
    "audio-data-clotho": (
        "clotho",
        [
            _count("development", "recordings of the training split", 3840),
            _count("validation", "of the validation split", 1045),
            _count("evaluation", "of the test split", 1045),
            _count("challenge", "of the leaderboard split", 1000),
            _count("asked", "captions of the leaderboard split", 1000),
            *_each(5),
            Stated("shortest", "seconds of the shortest recording", 9.95, 30.05, "10 to 30"),
            Stated("longest", "seconds of the longest", 9.95, 30.05, "10 to 30"),
            Stated("fewest words", "words of the shortest caption", 8, 20, "8 to 20"),
            Stated("most words", "words of the longest", 8, 20, "8 to 20"),
            _count("new captions", "new captions", 96_000),
        ],
    ),
    "audio-data-audiocaps": (
        "audiocaps",
        [_count("all", "recordings", 51_308), *_each(1), _mean_words(9.8)],
    ),
    "audio-data-wavcaps": (
        "wavcaps",
        [_count("all", "recordings", 403_050), *_each(1), _mean_words(7.8)],
    ),
}
"""By claim: the data set, and each number that the report states of it."""

_HOW = (
    f"Every number that Section {{section}} states agrees with what the lists hold, before "
    f"anything was left out: counts within {COUNTED:.1%}, means as printed, and a range holds both "
    "the smallest and the largest. {more}Needs nine tenths of the published recordings."
)
_WORDS = "A word is a run of letters and digits, hyphens and apostrophes inside it. "
STATISTICS_CRITERIA = {
    "audio-data-clotho": _HOW.format(section="2.4.1 and 2.4.4", more=_WORDS)
    + " Lengths are those that Clotho's metadata give.",
    "audio-data-audiocaps": _HOW.format(section="2.4.2", more=_WORDS)
    + " Its ten seconds aren't looked at: the lists don't give lengths.",
    "audio-data-wavcaps": _HOW.format(section="2.4.3", more=_WORDS),
}
_PUBLISHED = {
    "clotho": sum(CLOTHO[split].count for split in LABELLED),
    "audiocaps": AUDIOCAPS["all"].count,
    "wavcaps": sum(part.count for part in WAVCAPS.values()),
}


@dataclass(frozen=True)
class Statistics:
    """Numbers of each data set by the keys of STATED, and where the sets come from."""

    values: Mapping[str, Mapping[str, float]]
    sources: Mapping[str, str]
    backend: str

    @classmethod
    def read(
        cls,
        *,
        clips: pd.DataFrame,
        captions: pd.DataFrame,
        asked: pd.DataFrame,
        unfiltered: pd.DataFrame,
        sources: Mapping[str, str],
        backend: str,
    ) -> "Statistics":
        """From every clips.csv and captions.csv, the challenge's queries.csv and the new captions
        as they were written (unfiltered.csv). backend: what wrote them."""
        found = {}
        lists = dict(iter(clips.groupby("dataset")))
        for dataset, said in captions.groupby(dataset_of(captions["clip"])):
            if dataset in DATASET_LABELS and dataset in lists:
                found[str(dataset)] = _of(lists[dataset], said)
        if "clotho" in found:
            new = unfiltered["clip"].str.startswith("clotho/development/")
            found["clotho"] |= {"asked": float(len(asked)), "new captions": float(new.sum())}
        return cls(found, dict(sources), backend)

    def obstacles(self, dataset: str) -> list[str]:
        """Why what is said of a data set cannot be looked up here."""
        name = label(DATASET_LABELS, dataset)
        source = self.sources.get(dataset, LEFT_OUT)
        if source == SYNTHESISED:
            return [f"recordings were synthesised in place of {name}"]
        if source == LEFT_OUT or dataset not in self.values:
            return [f"{name} was left out"]
        found = few_data(self.values[dataset]["labelled"], _PUBLISHED[dataset], "recordings")
        if dataset == "clotho":
            new = int(self.values[dataset]["new captions"])
            found += few_data(new, 5 * CLOTHO["development"].captions, "new captions")
            if self.backend == TEMPLATE:
                found.append("the new captions were written by a template, not by GPT")
        return found


def _of(clips: pd.DataFrame, captions: pd.DataFrame) -> dict[str, float]:
    parts = {str(split): float(count) for split, count in clips["split"].value_counts().items()}
    words = captions["caption"].dropna().map(lambda caption: len(WORD.findall(caption)))
    each = captions.groupby("clip").size()
    seconds = pd.to_numeric(clips.loc[clips["split"].isin(LABELLED), "seconds"]).dropna()
    lengths = {"shortest": seconds.min(), "longest": seconds.max()} if len(seconds) else {}
    return {
        **parts,
        "all": float(len(clips)),
        "labelled": float(clips["clip"].isin(set(captions["clip"])).sum()),
        "fewest captions": float(each.min()),
        "most captions": float(each.max()),
        "fewest words": float(words.min()),
        "most words": float(words.max()),
        "mean words": float(words.mean()),
        **{name: float(value) for name, value in lengths.items()},
    }


def statistics_hold(claim: str, statistics: Statistics) -> Verdict:
    """One of STATED (Section 2.4): see STATISTICS_CRITERIA."""
    dataset, stated = STATED[claim]
    values = statistics.values.get(dataset, {})
    obstacles = statistics.obstacles(dataset)
    failures, measured = [], []
    for each in stated:
        if each.key not in values:
            obstacles = obstacles or [f"{each.what}: nothing here says how many"]
            continue
        value = values[each.key]
        text = f"{each.what} {_written(value)}, stated {each.printed}"
        measured.append(text)
        if not each.agrees(value):
            failures.append(text)
    return decide(
        claim,
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured) or f"no list of {label(DATASET_LABELS, dataset)}",
        interval="",
    )


def _written(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
