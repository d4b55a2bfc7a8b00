"""The study's set-up, labels, and rows of its files, shared by tables, figures and claims.

A row of metrics.csv or queries.csv belongs to a model, an ensemble or a baseline; its keys are
KEYS. For an ensemble or a baseline `audio_model` holds the name and the other keys are empty.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.report.tables import number

KEYS = ["stage", "audio_model", "text_model", "corpus", "captions", "seed", "system"]
SYSTEM = ["kind", "audio_model", "text_model", "seed"]
"""Keys of a system, whatever it was trained on."""
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
CLOTHO_EVALUATION = {"clips": 1045, "queries": 5225}
PAPER_MEMBERS = 8
"""Models in the report's ensemble."""

METRICS = {"map_at_10": "mAP@10", "r_at_1": "R@1", "r_at_5": "R@5", "r_at_10": "R@10"}
DATASET_LABELS = {"clotho": "Clotho", "audiocaps": "AudioCaps", "wavcaps": "WavCaps"}
KINDS = {
    "finetuned_gpt": "new captions",
    "finetuned_human": "human captions",
    "pretrained": "not fine-tuned",
    "ensemble_published": "ensemble, members as listed",
    "ensemble_selected": "ensemble, members by validation",
    "untrained": "untrained",
    "keywords": "bag of words on keywords",
    "chance": "chance",
}
"""What a row can be, in the order of tables and figures."""


@dataclass(frozen=True)
class AudioModel:
    """An audio encoder as configured. weights: name of the published ones, "" for none; overlap: of
    its patches, None where it has none; projection_hidden: units between it, or its sentence
    encoder, and the shared space, 0 for the report's linear map."""

    label: str
    weights: str
    segment_seconds: float
    overlap: bool | None
    projection_hidden: int = 0


@dataclass(frozen=True)
class TextModel:
    """A sentence encoder as configured. weights: name of the published ones, "" for none;
    parameters: how many, which orders models of a kind."""

    label: str
    weights: str
    kind: str
    parameters: float


@dataclass(frozen=True)
class AudioStudy:
    """The study's set-up, as far as its report depends on it.

    main: the pair of the ablation, Figure 2 and the leaks. evaluated, replicated, leaky: corpora.
    first_seed: of fine-tuning. sources: by data set. backend: what wrote the new captions.
    """

    audio: Mapping[str, AudioModel]
    text: Mapping[str, TextModel]
    main: tuple[str, str]
    evaluated: str
    replicated: str | None
    leaky: str | None
    first_seed: str
    sources: Mapping[str, str]
    backend: str

    @classmethod
    def read(
        cls,
        audio_models: Mapping[str, Mapping[str, Any]],
        text_models: Mapping[str, Mapping[str, Any]],
        main: Sequence[str],
        first_seed: int,
        **others: Any,
    ) -> "AudioStudy":
        """The study from the table of `Workflow.study`."""
        return cls(
            audio={name: AudioModel(**model) for name, model in audio_models.items()},
            text={name: TextModel(**model) for name, model in text_models.items()},
            main=(main[0], main[1]),
            first_seed=str(first_seed),
            **others,
        )

    @property
    def synthesised(self) -> bool:
        """Whether Clotho's recordings are scenes made here."""
        return self.sources.get("clotho") == "synthesised"

    @property
    def data(self) -> str:
        """The recordings that were scored, in words."""
        return "synthesised sound scenes" if self.synthesised else "Clotho"

    def weights(self, audio_model: str, text_model: str) -> tuple[str, str]:
        """Names of the published weights that both encoders start from, empty for none."""
        return self.audio[audio_model].weights, self.text[text_model].weights

    def published(self, audio_model: str, text_model: str) -> tuple[str, str]:
        """These names, empty also where a layer more follows the encoders than in the report."""
        if self.audio[audio_model].projection_hidden:
            return "", ""
        return self.weights(audio_model, text_model)

    def as_published(self, audio_model: str, text_model: str) -> bool:
        """Whether both encoders start from the published weights and end in a linear map."""
        return all(self.published(audio_model, text_model))

    def pair_label(self, audio_model: str, text_model: str) -> str:
        """Both encoders as a reader knows them."""
        return f"{self.audio[audio_model].label} + {self.text[text_model].label}"


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
    """Rows by kind (KINDS), then by the order of the configured models, then by seed."""
    seeds = dict.fromkeys([study.first_seed, *sorted(set(rows["seed"]))])
    orders = {"kind": KINDS, "audio_model": study.audio, "text_model": study.text, "seed": seeds}
    places = {
        key: rows[key].map({name: place for place, name in enumerate(order)})
        for key, order in orders.items()
    }
    return rows.loc[pd.DataFrame(places).sort_values([*orders], kind="stable").index]


def interval_texts(cells: pd.DataFrame) -> list[str]:
    """Values with their intervals as text: mAP@10 with two digits, its interval and others one."""
    texts = []
    for cell in records(cells):
        value = number(cell["value"], 2 if "map" in cell["metric"] else 1)
        ends = f" [{number(cell['low'], 1)}, {number(cell['high'], 1)}]"
        texts.append(value if pd.isna(cell["low"]) else value + ends)
    return texts
