"""What the audio study's models were trained on, beside what was published of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from triptych.audio.data_sizes import AUDIOCAPS, CLOTHO, WAVCAPS
from triptych.audio.report.labels import DATASET_LABELS
from triptych.report.palette import label
from triptych.report.verdicts import few_data, other_precision

DATASETS = ("clotho", "audiocaps", "wavcaps")
SYNTHESISED, LEFT_OUT = "synthesised", "none"
DEVELOPMENT = "development"
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
POLICIES = ("none", "strict")
"""The report left no leak out; `strict` leaves none in, which a claim must stand."""
PAPER_MODEL = "gpt-3.5-turbo"
PRECISIONS = ("float32", "tf32", "fp16", "bf16")
"""The report trained in 16 bits."""


@dataclass(frozen=True)
class AudioData:
    """What the evaluated corpus is made of, as its files say.

    clips: recordings that were there, trained on or left out as leaks, by data set and split.
    captions: of the clips trained on, by data set; expected: as many as published. new_captions: of
    Clotho's development split. leaked: clips trained on that are recordings of a protected split.
    exclude: the leak policy.
    backend, model: what wrote the new captions. precisions: of pretraining and fine-tuning.
    """

    clips: Mapping[tuple[str, str], int]
    captions: Mapping[str, int]
    expected: Mapping[str, int]
    new_captions: int
    leaked: int
    exclude: str
    backend: str
    model: str
    precisions: Collection[str]

    @classmethod
    def read(
        cls,
        *,
        counts: pd.DataFrame,
        manifest: pd.DataFrame,
        captions: pd.DataFrame,
        variations: pd.DataFrame,
        usage: pd.DataFrame,
        exclude: str,
        precisions: Sequence[str],
        audiocaps_captions: str = "all",
    ) -> "AudioData":
        """From counts.csv and manifest.csv of the evaluated corpus, every captions.csv, and
        variations.csv and usage.csv of the new captions. audiocaps_captions: all of a clip, or its
        first one alone."""
        there = counts["train"].where(counts["train"] == 0, counts["train"] + counts["excluded"])
        clips: dict[tuple[str, str], int] = {}
        for dataset, split, count in zip(counts["dataset"], counts["split"], there, strict=True):
            for key in ((str(dataset), str(split)), (str(dataset), "")):
                clips[key] = clips.get(key, 0) + int(count)
        trained = set(manifest.loc[manifest["role"] == "train", "clip"])
        of_training = captions.loc[captions["clip"].isin(trained), "clip"]
        new = variations.loc[variations["clip"].isin(trained), "clip"]
        ours = usage.iloc[0]
        datasets = dataset_of(of_training)
        if audiocaps_captions == "first":
            first = ~((datasets == "audiocaps") & of_training.duplicated())
            datasets = datasets[first]
        counted = datasets.value_counts()
        found = {name: int(counted.get(name, 0)) for name in DATASETS}
        return cls(
            clips=clips,
            captions=found,
            expected=expected_captions(audiocaps_captions),
            new_captions=int(new.str.startswith(f"clotho/{DEVELOPMENT}/").sum()),
            leaked=int(counts["leaked"].sum()),
            exclude=exclude,
            backend=str(ours["backend"]),
            model=str(ours["model"]),
            precisions=frozenset(precisions),
        )

    def obstacles(self) -> list[str]:
        """Why a claim cannot be tested on what these models were trained on."""
        found = []
        if self.exclude not in POLICIES:
            found.append(f"the leak policy was {self.exclude}, not {' or '.join(POLICIES)}")
        elif self.exclude == "strict" and self.leaked:
            found.append(f"{self.leaked} recordings that models are judged by were trained on")
        return found + other_precision(self.precisions, PRECISIONS)

    def captions_obstacles(self, sources: Mapping[str, str]) -> list[str]:
        """Whether the new captions are too few, or no language model's."""
        found = []
        if self.backend == "template":
            found.append("the new captions were written by a template, not by GPT")
        if sources.get("clotho") != SYNTHESISED:
            found += few_data(self.new_captions, NEW_CAPTIONS, "new captions")
        return found

    def other_data(
        self, sources: Mapping[str, str], datasets: Collection[str] = DATASETS
    ) -> list[str]:
        """In what the recordings are not the report's, of the data sets that a claim needs."""
        made = [name for name in datasets if sources.get(name) == SYNTHESISED]
        found = [f"recordings were synthesised in place of {listed(made)}"] if made else []
        absent = [name for name in datasets if sources.get(name, LEFT_OUT) == LEFT_OUT]
        found += (
            [f"{listed(absent)} {'was' if len(absent) == 1 else 'were'} left out"] if absent else []
        )
        there = [name for name in datasets if name not in (*made, *absent)]
        for (dataset, split), published in CLIPS.items():
            if dataset in there:
                name = f"{label(DATASET_LABELS, dataset)} {split}".strip()
                count = self.clips.get((dataset, split), 0)
                found += few_data(count, published, f"recordings of {name}")
        for dataset, published in self.expected.items():
            if dataset in there:
                name = f"captions of {label(DATASET_LABELS, dataset)}"
                found += few_data(self.captions.get(dataset, 0), published, name)
        return found

    def other_captions(self) -> list[str]:
        """Whether another language model than the report's wrote the new captions."""
        if self.backend != "openai" or self.model.startswith(PAPER_MODEL):
            return []
        return [f"the new captions were written by {self.model}, not by {PAPER_MODEL}"]


def dataset_of(clips: pd.Series) -> pd.Series:
    """The data sets of clips: half a million names, so not by pandas' slower string methods."""
    return clips.map(lambda clip: clip.partition("/")[0])


def expected_captions(audiocaps_captions: str) -> dict[str, int]:
    """As many as were published, by data set. audiocaps_captions: "first" is one a clip."""
    first = {"audiocaps": AUDIOCAPS["all"].count} if audiocaps_captions == "first" else {}
    return {**CAPTIONS, **first}


def listed(datasets: Sequence[str]) -> str:
    """Data sets as a reader knows them, in a sentence."""
    names = [label(DATASET_LABELS, name) for name in datasets]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
