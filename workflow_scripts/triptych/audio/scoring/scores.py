"""All models, ensembles and baselines on all splits: the tables that everything else reads."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.audio.data.tables import read_table
from triptych.audio.embedding_files import read_embeddings
from triptych.audio.scoring.ensemble import (
    mean_scores,
    member_sets,
    precisions,
    selected_members,
    subset_rows,
)
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import Floats, similarities
from triptych.audio.scoring.questions import Questions, ask

SPLITS = ("validation", "evaluation")
RUN_KEYS = ("stage", "audio_model", "text_model", "corpus", "captions", "seed", "system")
QUERIES = (*RUN_KEYS, "split", "query", "clip", "rank", "average_precision")

_WORD = re.compile(r"[a-z0-9]{2,}")
_ENDING = re.compile(r"(?<=[a-z]{3})(ings?|ers?|ed|es|e|s)$")

Run = Mapping[str, Any]
"""A row of the experiment table (`experiments.audio_runs`)."""


@dataclass(frozen=True)
class Scores:
    """Tables as they are written: a row a metric, a query, a member of an ensemble, and a set of
    members.
    """

    metrics: pd.DataFrame
    queries: pd.DataFrame
    ensembles: pd.DataFrame
    subsets: pd.DataFrame


def score_runs(
    runs: Sequence[Run],
    members: Sequence[Sequence[str]],
    clips: pd.DataFrame,
    scenes: pd.DataFrame | None = None,
) -> Scores:
    """Score every run that did not train on the splits to be scored, and what stands beside.

    runs: rows of the experiment table. members: pairs [audio model, text model] of the published
    ensemble; each corpus with models fine-tuned on GPT captions has its own. clips: Clotho's
    clips.csv; scenes: see `questions.ask`.
    """
    models = _models(runs)
    embedded = {
        run["run"]: read_embeddings(Path(run["folder"]) / "embeddings.npz") for run in models
    }
    scored = [run for run in models if all(name in embedded[run["run"]] for name in SPLITS)]
    corpora = dict.fromkeys(run["corpus"] for run in ensemble_runs(scored).values())
    pools = [_Pool(scored, corpus, members) for corpus in corpora]
    pooled = {label for pool in pools for label in pool.runs}

    metrics: list[dict[str, Any]] = []
    queries: list[pd.DataFrame] = []
    for name in SPLITS:
        first = embedded[scored[0]["run"]][name]
        questions = ask(name, first, scenes)
        of_pools: dict[str, Floats] = {}
        for run in scored:
            split = embedded[run["run"]][name]
            matrix = similarities(split.text, split.audio)
            keys = {**{key: run[key] for key in RUN_KEYS[:-1]}, "system": "model"}
            _add(questions, matrix, keys, metrics, queries)
            if run["run"] in pooled:
                of_pools[run["run"]] = matrix
        for pool in pools:
            pool.look_at(questions, of_pools)
            for ensemble, chosen in pool.ensembles.items():
                matrix = mean_scores([of_pools[member] for member in chosen])
                keys = _named(ensemble, "ensemble", pool.corpus)
                _add(questions, matrix, keys, metrics, queries)
        of_clips = clips.set_index("clip")["keywords"].reindex(questions.clips)
        matrix = keyword_scores(list(map(str, questions.queries)), list(map(str, of_clips)))
        _add(questions, matrix, _named("keywords", "baseline"), metrics, queries)
        metrics += [_named("chance", "baseline") | row for row in questions.chance()]
    return Scores(
        pd.DataFrame(metrics),
        pd.concat(queries, ignore_index=True)[list(QUERIES)],
        pd.DataFrame([row for pool in pools for row in pool.rows()]),
        pd.DataFrame([row for pool in pools for row in pool.compared()]),
    )


class _Pool:
    """The models of a corpus that an ensemble may hold, and ensembles, chosen on validation."""

    def __init__(
        self, scored: Sequence[Run], corpus: str, members: Sequence[Sequence[str]]
    ) -> None:
        self.corpus = corpus
        self.runs = ensemble_runs(run for run in scored if run["corpus"] == corpus)
        self.ensembles: dict[str, list[str]] = {}
        labels = {(run["audio_model"], run["text_model"]): name for name, run in self.runs.items()}
        self._listed = listed = [labels[audio, text] for audio, text in members]
        self._sets = member_sets(listed, [label for label in self.runs if label not in listed])
        self._precisions: dict[str, NDArray[np.float32]] = {}
        self._clips: NDArray[np.str_] = np.array([])

    def look_at(self, questions: Questions, matrices: Mapping[str, Floats]) -> None:
        """Compare all ensembles on a split, and on the first one choose those that are scored."""
        of_runs = {label: matrices[label] for label in self.runs}
        if not self.ensembles:
            selected = selected_members(of_runs, questions.columns)
            self.ensembles = {"published": self._listed, "selected": selected}
        self._precisions[questions.split] = precisions(self._sets, of_runs, questions.columns)
        self._clips = questions.clips[questions.columns]

    def rows(self) -> list[dict[str, str]]:
        """A row a member of each ensemble."""
        return [
            {"corpus": self.corpus, "name": name, "member": member}
            for name, members in self.ensembles.items()
            for member in members
        ]

    def compared(self) -> list[dict[str, Any]]:
        validation, evaluation = (self._precisions[name] for name in SPLITS)
        resamples = ClusterResamples(self._clips)
        rows = subset_rows(self.corpus, self._sets, validation, evaluation, resamples)
        return sorted(rows, key=lambda row: row["place"])


def read_histories(runs: Sequence[Run]) -> pd.DataFrame:
    """history.csv of all runs as one table of strings, as written, in the order of the runs."""
    tables = [read_table(Path(run["folder"]) / "history.csv") for run in runs]
    return pd.concat(tables, ignore_index=True)


def ensemble_runs(runs: Iterable[Run]) -> dict[str, Run]:
    """The models fine-tuned with GPT captions, by label: the first one a pair and corpus."""
    chosen: dict[tuple[str, ...], Run] = {}
    for run in runs:
        if run["stage"] == "finetuned" and run["captions"] == "gpt":
            key = run["corpus"], run["audio_model"], run["text_model"]
            chosen.setdefault(key, run)
    return {run["run"]: run for run in chosen.values()}


def _models(runs: Sequence[Run]) -> list[Run]:
    """The runs, and the untrained models whose embeddings lie beside pretrained ones."""
    models = list(runs)
    for run in runs:
        untrained = Path(run["folder"]) / "untrained"
        if run["stage"] == "pretrained" and (untrained / "embeddings.npz").exists():
            place = {"run": f"{run['run']}/untrained", "folder": os.fspath(untrained)}
            models.append({**run, "stage": "untrained", **place})
    return models


def _add(
    questions: Questions,
    matrix: Floats,
    keys: dict[str, Any],
    metrics: list[dict[str, Any]],
    queries: list[pd.DataFrame],
) -> None:
    metrics += [keys | row for row in questions.measure(matrix)]
    queries.append(questions.queries_table(matrix).assign(**keys))


def _named(name: str, system: str, corpus: str = "") -> dict[str, Any]:
    named = {"audio_model": name, "system": system, "corpus": corpus}
    return dict.fromkeys(RUN_KEYS, "") | named


def words(text: str) -> list[str]:
    """Lower-case words without their commonest endings: "Dogs, barking" -> ["dog", "bark"]."""
    return [_ENDING.sub("", word) for word in _WORD.findall(text.lower())]


def keyword_scores(queries: Sequence[str], keywords: Sequence[str]) -> Floats:
    """TF-IDF cosine [Q, C] between the words of queries and those of the clips' keywords [C]."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # 1.1 s of import

    vectorizer = TfidfVectorizer(analyzer=words)
    clips = vectorizer.fit_transform(keywords)
    return (vectorizer.transform(queries) @ clips.T).toarray()
