"""The study's set-up, labels, and rows of its files, shared by tables, figures and claims.

A row of metrics.csv or queries.csv belongs to a model, an ensemble or a baseline; its keys are
KEYS. For an ensemble or a baseline `audio_model` holds the name and the other keys are empty.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.audio.data_sizes import CLOTHO
from triptych.report.statistics import Interval
from triptych.report.tables import number

KEYS = ["stage", "audio_model", "text_model", "corpus", "captions", "seed", "system"]
SYSTEM = ["kind", "audio_model", "text_model", "seed"]
"""Keys of a system, whatever it was trained on."""
NUMBERS = ["value", "low", "high", "queries", "clips"]
_TEXT = [
    *KEYS,
    "split",
    "subset",
    "relevance",
    "metric",
    "clip",
    "dataset",
    "reason",
    "source",
    "sound_id",
    "youtube_id",
    "name",
    "member",
]
CLOTHO_EVALUATION = {
    "clips": CLOTHO["evaluation"].count,
    "queries": CLOTHO["evaluation"].captions,
}

METRICS = {"map_at_10": "mAP@10", "r_at_1": "R@1", "r_at_5": "R@5", "r_at_10": "R@10"}
DATASET_LABELS = {"clotho": "Clotho", "audiocaps": "AudioCaps", "wavcaps": "WavCaps"}
CAPTION_LABELS = {"human": "human captions", "gpt": "new captions"}
SHAPES = {"human": "o", "gpt": "s"}
FINETUNING = {
    "validation_loss": ("Validation loss", "NT-Xent", 1.0),
    "validation_map_at_10": ("Validation mAP@10", "percent", 100.0),
}
"""Title, unit and factor of each measure."""
KINDS = (
    "finetuned_gpt",
    "finetuned_human",
    "pretrained",
    "ensemble_published",
    "ensemble_selected",
    "untrained",
    "keywords",
    "chance",
)
"""Kinds of systems, in the order of Table 2."""


Pair = tuple[str, str]
"""The names of an audio and of a text model."""


@dataclass(frozen=True)
class PairModel:
    """A pair of models as configured.

    audio, text: labels of both encoders; weights: names of the published weights that they start
    from, "" for none; overlap: of the audio model's patches, None where it has none;
    projection_hidden: units between encoders and shared space, 0 for the report's linear map;
    text_kind, text_parameters: of the sentence encoder, the number orders those of a kind.
    """

    audio: str
    text: str
    weights: Sequence[str]
    segment_seconds: float
    overlap: bool | None
    text_kind: str
    text_parameters: float
    projection_hidden: int = 0

    @property
    def label(self) -> str:
        """Both encoders as a reader knows them."""
        return f"{self.audio} + {self.text}"

    @property
    def published(self) -> Pair:
        """Names of the published weights, empty also where a layer more follows the encoders than
        in the report."""
        return ("", "") if self.projection_hidden else (self.weights[0], self.weights[1])


@dataclass(frozen=True)
class AudioStudy:
    """The study's set-up, as far as its report depends on it.

    pairs: in the order of the config. main: the pair of the ablation, Figure 2 and the leaks.
    evaluated, replicated, leaky: corpora. first_seed: of fine-tuning. sources: by data set.
    backend: what wrote the new captions.
    """

    pairs: Mapping[Pair, PairModel]
    main: Pair
    evaluated: str
    replicated: str | None
    leaky: str | None
    first_seed: str
    sources: Mapping[str, str]
    backend: str

    @classmethod
    def read(cls, pairs: Mapping[str, Any], main: str, **others: Any) -> "AudioStudy":
        """The study from the table of `Workflow.study`."""
        models = {pair_of(name): PairModel(**model) for name, model in pairs.items()}
        return cls(models, pair_of(main), **others)

    @property
    def synthesised(self) -> bool:
        """Whether Clotho's recordings are scenes made here."""
        return self.sources.get("clotho") == "synthesised"

    @property
    def data(self) -> str:
        """The recordings that were scored, in words."""
        return "synthesised sound scenes" if self.synthesised else "Clotho"


def pair_of(name: str) -> Pair:
    """A pair by the name of its folder, with which labels of its runs begin."""
    audio, text = name.split("/")[0].split("-")
    return audio, text


def read_rows(paths: str | Path | Sequence[str | Path]) -> pd.DataFrame:
    """CSV files of one layout; keys and ids stay text, what is empty in them stays empty."""
    if isinstance(paths, str | Path):
        paths = [paths]
    frames = [
        pd.read_csv(
            path, dtype=dict.fromkeys(_TEXT, str), keep_default_na=False, na_values=["", "nan"]
        )
        for path in paths
    ]
    return pd.concat(frames, ignore_index=True).fillna(dict.fromkeys(_TEXT, ""))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain dictionaries."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def with_kind(rows: pd.DataFrame) -> pd.DataFrame:
    """Add `kind`, one of KINDS, to rows that have KEYS."""
    tuned = rows["stage"].where(rows["stage"] != "finetuned", "finetuned_" + rows["captions"])
    ensembles = "ensemble_" + rows["audio_model"]
    others = rows["audio_model"].where(rows["system"] != "ensemble", ensembles)
    return rows.assign(kind=tuned.where(rows["system"] == "model", others))


def evaluation_rows(frame: pd.DataFrame, corpora: Collection[str | None]) -> pd.DataFrame:
    """Rows of the evaluation split that are of some corpora ("": of none), with `kind`."""
    chosen = (frame["split"] == "evaluation") & frame["corpus"].isin([*corpora])
    return with_kind(frame[chosen])


def of_pair(frame: pd.DataFrame, pair: tuple[str, str], stage: str) -> pd.DataFrame:
    """Rows of a pair of models after a stage of training."""
    models = (frame["audio_model"] == pair[0]) & (frame["text_model"] == pair[1])
    return frame[models & (frame["stage"] == stage)]


def in_order(rows: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """Rows by kind (KINDS), then by the order of the configured pairs, then by seed."""
    pairs = list(study.pairs)

    def place(row: Mapping[str, Any]) -> tuple[Any, ...]:
        pair = (row["audio_model"], row["text_model"])
        of_pair = pairs.index(pair) if pair in pairs else -1
        return KINDS.index(row["kind"]), of_pair, row["seed"] != study.first_seed, row["seed"]

    places = [place(row) for row in records(rows)]
    return rows.iloc[sorted(range(len(rows)), key=places.__getitem__)]


def interval_texts(cells: pd.DataFrame) -> list[str]:
    """Values with their intervals as text: mAP@10 with two digits, its interval and others one."""
    texts = []
    for cell in records(cells):
        value = number(cell["value"], 2 if "map" in cell["metric"] else 1)
        ends = Interval(cell["value"], cell["low"], cell["high"]).ends(1)
        texts.append(value if pd.isna(cell["low"]) else f"{value} {ends}")
    return texts
