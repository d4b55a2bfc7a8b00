"""The study's set-up, labels, rows of its files, and differences of scores with intervals over
clips, shared by tables, figures and claims.

A row of metrics.csv or queries.csv belongs to a model, an ensemble or a baseline; its keys are
KEYS. For an ensemble or a baseline `audio_model` holds the name and the other keys are empty.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.audio.data_sizes import CLOTHO
from triptych.report.statistics import Interval, ratio_interval
from triptych.report.tables import number

KEYS = ["stage", "audio_model", "text_model", "corpus", "captions", "seed", "system"]
SYSTEM = ["kind", "audio_model", "text_model", "seed"]
"""Keys of a system, whatever it was trained on."""
NUMBERS = ["value", "low", "high", "queries", "clips"]
_TEXT = [*KEYS, "sound_id"]  # of which some look like numbers, and some are empty
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
    def published(self) -> str:
        """Names of the published weights; none where a layer more follows the encoders than in the
        report."""
        return "" if self.projection_hidden else " ".join(self.weights).strip()


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
    """Add `kind` to rows that have KEYS: the stage, of fine-tuned models with the captions; of an
    ensemble or a baseline, its name."""
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


def interval_texts(cells: pd.DataFrame) -> list[str]:
    """Values with their intervals as text: mAP@10 with two digits, its interval and others one."""
    texts = []
    for cell in records(cells):
        value = number(cell["value"], 2 if "map" in cell["metric"] else 1)
        ends = Interval(cell["value"], cell["low"], cell["high"]).ends(1)
        texts.append(value if pd.isna(cell["low"]) else f"{value} {ends}")
    return texts


def measured(queries: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Each of METRICS as a share: a row a query, named by (clip, query), a column a system.

    queries: rows of queries.csv with `kind`, one a query and system.
    """
    ranks = queries.pivot(index=["clip", "query"], columns=SYSTEM, values="rank")
    shares = {"map_at_10": (1 / ranks).where(ranks <= 10, 0.0)}
    shares |= {f"r_at_{most}": (ranks <= most).astype(float) for most in (1, 5, 10)}
    return {metric: share.where(ranks.notna()) for metric, share in shares.items()}


def gaps(queries: pd.DataFrame, first: str | None, second: str | None) -> pd.DataFrame:
    """Gains of one corpus over another in percentage points, mean over the systems of both: a row a
    query that all of them ranked, a column a metric. queries: as `measured` takes them."""
    corpora = [measured(queries[queries["corpus"] == corpus]) for corpus in (first, second)]
    differences = {}
    for metric in corpora[0]:
        one, other = corpora[0][metric].align(corpora[1][metric], join="inner")
        differences[metric] = 100 * (one - other).dropna().mean(axis=1)
    return pd.DataFrame(differences)


def mean_over_clips(values: pd.Series) -> Interval:
    """Mean over queries, named by (clip, query), with its 95% interval over clips."""
    by_clip = values.groupby(level="clip")
    # A mean over queries is a ratio of sums over clips, however many captions a clip has.
    return ratio_interval(by_clip.sum().to_numpy(), by_clip.size().to_numpy())


def interval_cells(differences: pd.DataFrame) -> pd.DataFrame:
    """Mean differences over queries with their intervals, a row a metric. differences: as `gaps`
    returns them."""
    clips = differences.index.get_level_values("clip").nunique()
    cells = []
    for metric, values in differences.items():
        interval = mean_over_clips(values)
        ends = {"value": interval.estimate, "low": interval.low, "high": interval.high}
        cells.append({"metric": metric, **ends, "queries": len(values), "clips": clips})
    return pd.DataFrame(cells)
