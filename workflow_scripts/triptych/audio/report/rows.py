"""Models, rows and names that the audio study's tables, figures and claims share.

A row of metrics.csv or queries.csv belongs to a model, an ensemble or a baseline; its keys are
KEYS. For an ensemble or a baseline `audio_model` holds the name and the other keys are empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.report.tables import number

KEYS = ["stage", "audio_model", "text_model", "corpus", "captions", "seed", "system"]
_TEXT = {
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
}
CLOTHO_EVALUATION = {"clips": 1045, "queries": 5225}
PAPER_MEMBERS = 8
"""Models in the report's ensemble."""

METRICS = {"map_at_10": "mAP@10", "r_at_1": "R@1", "r_at_5": "R@5", "r_at_10": "R@10"}

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
    """An audio encoder as configured. weights: none, or published ones; overlap: of its patches,
    None where it has none; projection_hidden: units between it, or its sentence encoder, and the
    shared space, 0 for the report's linear map."""

    label: str
    weights: str
    segment_seconds: float
    overlap: bool | None
    projection_hidden: int = 0


@dataclass(frozen=True)
class TextModel:
    """A sentence encoder as configured. source: hub or scratch; weights: how many, which orders
    models of a kind."""

    label: str
    kind: str
    source: str
    weights: float


@dataclass(frozen=True)
class AudioStudy:
    """The study's set-up, as far as its report depends on it.

    main: the pair of the ablation, Figure 2 and the leaks. evaluated, replicated, leaky: corpora,
    "" for none. first_seed: of fine-tuning. sources: by data set. backend: what wrote the new
    captions.
    """

    audio: Mapping[str, AudioModel]
    text: Mapping[str, TextModel]
    main: tuple[str, str]
    evaluated: str
    replicated: str
    leaky: str
    first_seed: str
    sources: Mapping[str, str]
    backend: str

    @classmethod
    def read(cls, **table: Any) -> "AudioStudy":
        """The study from the table of `Workflow.study`."""
        return cls(
            audio={name: AudioModel(**model) for name, model in table["audio_models"].items()},
            text={name: TextModel(**model) for name, model in table["text_models"].items()},
            main=(str(table["main"][0]), str(table["main"][1])),
            evaluated=table["evaluated"],
            replicated=table["replicated"] or "",
            leaky=table["leaky"] or "",
            first_seed=str(table["first_seed"]),
            sources=table["sources"],
            backend=table["backend"],
        )

    def as_published(self, audio_model: str, text_model: str) -> bool:
        """Whether both encoders start from the published weights and end in a linear map."""
        if audio_model not in self.audio or text_model not in self.text:
            return False
        return all(self.published(audio_model, text_model))

    def published(self, audio_model: str, text_model: str) -> tuple[str, str]:
        """Names of the published weights that both encoders start from, empty for none and where
        what follows them is not the report's linear map."""
        if self.audio[audio_model].projection_hidden:
            return "", ""
        return self.weights(audio_model, text_model)

    def weights(self, audio_model: str, text_model: str) -> tuple[str, str]:
        """Names of the published weights that both encoders start from, empty for none."""
        audio, text = self.audio[audio_model], self.text[text_model]
        weights = "" if audio.weights == "none" else audio.weights
        return weights, text_model if text.source == "hub" else ""

    def pair_label(self, audio_model: str, text_model: str) -> str:
        """Both encoders as a reader knows them."""
        audio, text = self.audio.get(audio_model), self.text.get(text_model)
        return f"{audio.label if audio else audio_model} + {text.label if text else text_model}"

    def captions_label(self, captions: str) -> str:
        """The author of a run's new captions, or `no` if it has none."""
        if captions != "gpt":
            return "no"
        return {"template": "template", "authors": "authors' GPT"}.get(self.backend, "GPT")

    def data(self) -> str:
        """The recordings that were scored, in words."""
        synthesised = self.sources["clotho"] == "synthesised"
        return "synthesised sound scenes" if synthesised else "Clotho"


def read_rows(paths: str | Path | Sequence[str | Path]) -> pd.DataFrame:
    """CSV files of one layout; keys and ids stay text, what is empty in them stays empty."""
    if isinstance(paths, str | Path):
        paths = [paths]
    frames = []
    for path in paths:
        named = pd.read_csv(path, nrows=0).columns
        text = {column: str for column in named if column in _TEXT}
        numbers = {column: ["", "nan"] for column in named if column not in _TEXT}
        frames.append(pd.read_csv(path, dtype=text, keep_default_na=False, na_values=numbers))
    return pd.concat(frames, ignore_index=True)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain dictionaries."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def by_metric(cells: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Rows of one system by what each measures; of several the first."""
    return {str(row["metric"]): row for row in reversed(records(cells))}


def kind_of(row: Mapping[str, Any]) -> str:
    """Which of KINDS a row is."""
    if row["system"] == "baseline":
        return str(row["audio_model"])
    if row["system"] == "ensemble":
        return f"ensemble_{row['audio_model']}"
    if row["stage"] == "finetuned":
        return f"finetuned_{row['captions']}"
    return str(row["stage"])


def of_corpora(frame: pd.DataFrame, corpora: Sequence[str]) -> pd.DataFrame:
    """Rows of the evaluation split that are of some corpora ("": of none), with `kind`."""
    rows = frame[(frame["split"] == "evaluation") & frame["corpus"].isin(list(corpora))].copy()
    rows["kind"] = [kind_of(row) for row in records(rows[KEYS])]
    return rows


def in_order(rows: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """Rows by kind (KINDS), then by the order of the configured models, then by seed."""
    kinds = {kind: place for place, kind in enumerate(KINDS)}
    audio = {name: place for place, name in enumerate(study.audio)}
    text = {name: place for place, name in enumerate(study.text)}
    places = pd.DataFrame(
        {
            "kind": rows["kind"].map(kinds).fillna(len(kinds)),
            "audio": rows["audio_model"].map(audio).fillna(-1),
            "text": rows["text_model"].map(text).fillna(-1),
            "first": rows["seed"] != study.first_seed,
            "seed": rows["seed"],
        },
        index=rows.index,
    )
    return rows.loc[
        places.sort_values(["kind", "audio", "text", "first", "seed"], kind="stable").index
    ]


def system_label(row: Mapping[str, Any], study: AudioStudy) -> str:
    """A system's name for a figure or a table with one row a system."""
    kind = str(row["kind"])
    name = KINDS.get(kind, kind.replace("_", " "))
    if row["system"] != "model":
        return name[:1].upper() + name[1:]
    if kind == "finetuned_gpt" and study.backend != "template":
        name = "GPT captions"
    return f"{study.pair_label(row['audio_model'], row['text_model'])}, {name}"


def with_interval(cell: Mapping[str, Any], digits: int = 2) -> str:
    """A value with its interval, whose ends have one digit."""
    text = number(cell["value"], digits)
    if pd.isna(cell["low"]):
        return text
    return f"{text} [{number(cell['low'], 1)}, {number(cell['high'], 1)}]"


def headers(*names: str) -> tuple[tuple[str, str], ...]:
    """Columns of a table under headers of one level."""
    return tuple(("", name) for name in names)
