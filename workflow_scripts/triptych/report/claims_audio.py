"""The claims of the audio-retrieval report, each with a criterion fixed before any result was seen.

All compare mAP@10 on the evaluation split between systems that saw the same queries, so each
difference is paired by query and has an interval over clips, each with all its captions.
Whether a claim can be tested follows from the data, models and runs that are there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from triptych.core.statistics import Interval
from triptych.report.audio_study import CLOTHO_EVALUATION, PAPER_MEMBERS, AudioStudy, kind_of
from triptych.report.style import DATASET_LABELS, label
from triptych.report.tables_audio_leaks import mean_over_clips, precision_at_10

DATASETS = ("clotho", "audiocaps", "wavcaps")
PAPER_AUDIO = ("passt_n", "passt_s", "passt_s15")
PAPER_PAIRS = (
    *((audio, text) for audio in PAPER_AUDIO[:2] for text in ("bert_base", "roberta_base")),
    *((audio, text) for audio in PAPER_AUDIO for text in ("bert_large", "roberta_large")),
)
"""Pairs of Table 2 by their published weights, as `AudioStudy.published` names them."""
BEST = ("passt_n", "roberta_large")
PAPER_RUNS = 3
PAPER_EPOCHS = {"pretrained": 15, "finetuned": 5}

_NEEDS = "Needs Clotho, encoders with their published weights and the report's epochs"
_CAPTIONS = f"{_NEEDS}, and new captions of a language model."

CRITERIA = {
    "audio-best-single": (
        "Of the ten pairs of encoders in Table 2, fine-tuned with GPT captions, one run each, "
        "PaSST-N with roberta-large has the highest mAP@10 on the evaluation split. The interval "
        "of its lead over the next pair stands beside it: one that holds 0 says that the order "
        f"of these two may be chance. {_CAPTIONS}"
    ),
    "audio-finetune-helps": (
        "The main pair fine-tuned on Clotho with human captions minus the same pair pretrained "
        "only, mean over all runs: the 95% interval (paired by query, over clips) "
        f"of the difference in mAP@10 lies above 0. {_NEEDS}."
    ),
    "audio-gpt-helps": (
        "The main pair fine-tuned with GPT captions minus with human captions, mean over all "
        "runs: the 95% interval of the difference in mAP@10 lies above 0. And in each "
        f"of at least {PAPER_RUNS} runs, paired by seed, the validation loss after the last epoch "
        "is lower with GPT captions; the lowest losses are stated beside it. "
        f"{_CAPTIONS}"
    ),
    "audio-larger-text": (
        "The large minus the base sentence encoder of the same kind, for BERT and RoBERTa within "
        "PaSST-N and PaSST-S, fine-tuned with GPT captions: the 95% interval of the "
        "mean of the four differences in mAP@10 lies above 0, and none of the four intervals "
        f"lies below 0. {_CAPTIONS}"
    ),
    "audio-no-overlap": (
        "PaSST-N minus PaSST-S with each of the four sentence encoders, fine-tuned with GPT "
        "captions: the 95% interval of the mean of the four differences in mAP@10 lies "
        f"above 0, and none of the four intervals lies below 0. {_CAPTIONS}"
    ),
    "audio-ensemble": (
        f"The mean of the similarity matrices of the {PAPER_MEMBERS} published members minus the "
        "single model that is best on the same split: the 95% interval of the "
        f"difference in mAP@10 lies above 0. {_CAPTIONS}"
    ),
}


@dataclass(frozen=True)
class AudioScores:
    """What the claims read: queries.csv (evaluation split), every history.csv, ensembles.csv."""

    queries: pd.DataFrame
    history: pd.DataFrame
    ensembles: pd.DataFrame
    study: AudioStudy

    @classmethod
    def read(
        cls,
        queries: pd.DataFrame,
        history: pd.DataFrame,
        ensembles: pd.DataFrame,
        study: AudioStudy,
    ) -> "AudioScores":
        """Keep the evaluated corpus; give every query its precision (percent) and every row its
        `kind`."""
        corpus = queries["corpus"].isin([study.evaluated, ""])
        chosen = queries[(queries["split"] == "evaluation") & corpus].copy()
        chosen["precision"] = 100 * precision_at_10(chosen["rank"])
        keys = ["stage", "audio_model", "text_model", "captions", "system"]
        kinds = {
            tuple(row): kind_of(dict(zip(keys, row, strict=True)))
            for row in chosen[keys].drop_duplicates().to_numpy()
        }
        chosen["kind"] = [kinds[tuple(row)] for row in chosen[keys].to_numpy()]
        ours = history[history["corpus"] == study.evaluated]
        return cls(chosen, ours, ensembles, study)

    def pairs(self) -> list[tuple[str, str]]:
        """Audio and text model of every pair that was fine-tuned with new captions."""
        rows = self.queries[self.queries["kind"] == "finetuned_gpt"]
        named = rows[["audio_model", "text_model"]].drop_duplicates().to_numpy().tolist()
        return [(str(audio), str(text)) for audio, text in named]

    def precision(self, kind: str, pair: tuple[str, str], *, seed: str = "") -> pd.Series:
        """Precision of each query, indexed by (clip, query); mean over runs where no seed is
        given; empty where there is no such run."""
        rows = self.queries
        chosen = (rows["kind"] == kind) & (rows["audio_model"] == pair[0])
        chosen &= rows["text_model"] == pair[1]
        if seed:
            chosen &= rows["seed"] == seed
        return rows[chosen].groupby(["clip", "query"])["precision"].mean()

    def run_means(self, kind: str, pair: tuple[str, str]) -> list[float]:
        """mAP@10 of each run, in the order of their seeds."""
        rows = self.queries
        chosen = (rows["kind"] == kind) & (rows["audio_model"] == pair[0])
        of_pair = rows[chosen & (rows["text_model"] == pair[1])]
        return [float(mean) for mean in of_pair.groupby("seed")["precision"].mean()]

    def single(self, pair: tuple[str, str]) -> pd.Series:
        """A pair's one run of Table 2: fine-tuned with new captions from the first seed."""
        return self.precision("finetuned_gpt", pair, seed=self.study.first_seed)

    def label(self, pair: tuple[str, str]) -> str:
        """The pair as a reader knows it."""
        return self.study.pair_label(*pair)

    def published(self, pair: tuple[str, str]) -> tuple[str, str]:
        """The published weights that a pair's two models start from, empty for none."""
        return self.study.published(*pair)

    def data_obstacles(self) -> list[str]:
        """Why these recordings and epochs cannot test a claim on Clotho."""
        found = []
        sources = self.study.sources
        made = [name for name in DATASETS if sources.get(name) == "synthesised"]
        absent = [name for name in DATASETS if sources.get(name, "none") == "none"]
        if made:
            found.append(f"recordings were synthesised in place of {_listed(made)}")
        if absent:
            found.append(f"{_listed(absent)} was left out of pretraining")
        clips = self.queries["clip"].nunique()
        if "clotho" not in made and clips < CLOTHO_EVALUATION["clips"]:
            found.append(
                f"{clips:,} of Clotho's {CLOTHO_EVALUATION['clips']:,} evaluation clips were scored"
            )
        for stage, epochs in PAPER_EPOCHS.items():
            done = self.history[self.history["stage"] == stage]["epoch"].max()
            if not done >= epochs:
                said = "0" if pd.isna(done) else f"{done:.0f}"
                word = "pretraining" if stage == "pretrained" else "fine-tuning"
                found.append(f"{said} epochs of {word} were run, the report's are {epochs}")
        return found

    def model_obstacles(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Which encoders of these pairs do not start from the published weights."""
        audio = [self.study.audio[name] for name in dict.fromkeys(pair[0] for pair in pairs)]
        text = [self.study.text[name] for name in dict.fromkeys(pair[1] for pair in pairs)]
        other = [model.label for model in audio if model.weights == "none"]
        other += [model.label for model in text if model.source != "hub"]
        return [f"trained from scratch, not published weights: {', '.join(other)}"] if other else []

    def captions_obstacles(self) -> list[str]:
        """Whether the new captions are a language model's."""
        if self.study.backend != "template":
            return []
        return ["the new captions were written by a template, not by GPT"]


def _listed(datasets: Sequence[str]) -> str:
    names = [label(DATASET_LABELS, name) for name in datasets]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def gain(first: pd.Series, second: pd.Series) -> Interval:
    """Mean difference of two systems' precision in percentage points, paired by query."""
    shared = first.index.intersection(second.index)
    return mean_over_clips(first[shared] - second[shared])


def points(interval: Interval) -> str:
    """A difference as a person writes it."""
    return f"{interval.estimate:+.2f} points"
