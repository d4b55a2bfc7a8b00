"""Queries and subsets of a split, and the tidy rows of a model's scores on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.audio.embedding_files import Split
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import (
    Floats,
    Integers,
    average_precisions,
    chance_average_precision,
    chance_recall,
    columns_of,
    hits,
    ranks,
    reciprocal_ranks,
)
from triptych.report.statistics import Interval

Booleans = NDArray[np.bool_]

RECALLS = (1, 5, 10)
CUTOFFS = (10, 16)
"""Of the mean average precision with several relevant clips: 2023's and 2025's challenge."""


@dataclass(frozen=True)
class Questions:
    """The queries of a split, the clips that they are to find, and the subsets that count.

    clips [C], queries [Q] (captions); columns: [Q] of the true clips; subsets: masks over the
    queries [Q], "all" first; relevant: [Q, C], or None without labels.
    """

    split: str
    clips: NDArray[np.str_]
    queries: NDArray[np.str_]
    columns: Integers
    subsets: Mapping[str, Booleans]
    relevant: Booleans | None

    @cached_property
    def resamples(self) -> dict[tuple[str, bool], ClusterResamples]:
        """Bootstrap weights of each subset, of all its queries or of the labelled ones (True)."""
        return {
            key: ClusterResamples(self.clips[self.columns[rows]])
            for key, rows in self._rows.items()
        }

    @cached_property
    def _rows(self) -> dict[tuple[str, bool], Booleans]:
        rows = {(name, False): chosen for name, chosen in self.subsets.items()}
        if self.relevant is not None:
            labelled = self.relevant.any(axis=1)
            rows |= {(name, True): chosen & labelled for name, chosen in self.subsets.items()}
        return {key: chosen for key, chosen in rows.items() if chosen.any()}

    def measure(self, scores: Floats) -> list[dict[str, Any]]:
        """Rows of subset, relevance, metric, value, low, high, queries, clips.

        scores: [Q, C].
        """
        of_ranks = ranks(scores, self.columns)
        per_query = {"map_at_10": reciprocal_ranks(of_ranks, 10)}
        per_query |= {f"r_at_{cutoff}": hits(of_ranks, cutoff) for cutoff in RECALLS}
        rows = []
        for (subset, labelled), chosen in self._rows.items():
            if labelled:
                assert self.relevant is not None
                labelled_scores = scores[chosen], self.relevant[chosen]
                values = {f"map_at_{k}": average_precisions(*labelled_scores, k) for k in CUTOFFS}
            else:
                values = {name: value[chosen] for name, value in per_query.items()}
            resamples = self.resamples[subset, labelled]
            for metric, value in values.items():
                rows.append(self._row(subset, labelled, metric, resamples.interval(value)))
        return rows

    def chance(self) -> list[dict[str, Any]]:
        """Rows as `measure` gives, of an order drawn at random: expected values, no intervals."""
        clips = len(self.clips)
        rows = []
        for (subset, labelled), chosen in self._rows.items():
            if labelled:
                assert self.relevant is not None
                counts = self.relevant[chosen].sum(axis=1).tolist()
                values = {
                    f"map_at_{k}": np.mean([chance_average_precision(clips, k, n) for n in counts])
                    for k in CUTOFFS
                }
            else:
                values = {"map_at_10": np.float64(chance_average_precision(clips, 10))}
                values |= {f"r_at_{k}": np.float64(chance_recall(clips, k)) for k in RECALLS}
            for metric, value in values.items():
                interval = Interval(float(value), np.nan, np.nan)
                rows.append(self._row(subset, labelled, metric, interval))
        return rows

    def queries_table(self, scores: Floats) -> pd.DataFrame:
        """One row a query: split, query, clip, rank and average precision of the true clip."""
        of_ranks = ranks(scores, self.columns)
        return pd.DataFrame(
            {
                "split": self.split,
                "query": np.arange(len(self.queries)),
                "clip": self.clips[self.columns],
                "rank": of_ranks,
                "average_precision": reciprocal_ranks(of_ranks, 10),
            }
        )

    def _row(self, subset: str, labelled: bool, metric: str, mean: Interval) -> dict[str, Any]:
        return {
            "split": self.split,
            "subset": subset,
            "relevance": "multiple" if labelled else "single",
            "metric": metric,
            "value": mean.estimate,
            "low": mean.low,
            "high": mean.high,
            "queries": int(self._rows[subset, labelled].sum()),
            "clips": len(self.clips),
        }


def ask(
    name: str,
    split: Split,
    relevance: pd.DataFrame,
    scenes: pd.DataFrame | None = None,
) -> Questions:
    """The questions of a split.

    relevance: split, caption, clip of the clips that fit a caption. scenes: clip and seen, for
    synthesised clips. Raises ValueError for a query whose true clip is not ranked.
    """
    columns = columns_of(list(split.query_clips), list(split.clips))
    subsets = {"all": np.ones(len(columns), dtype=bool)}
    if scenes is not None:
        of_clips = scenes.set_index("clip").reindex(split.clips)
        flags = of_clips["seen"].astype(str).to_numpy()[columns]
        subsets |= {"seen": flags == "1", "unseen": flags == "0"}
    return Questions(
        split=name,
        clips=split.clips,
        queries=split.captions,
        columns=columns,
        subsets=subsets,
        relevant=_relevant(relevance[relevance["split"] == name], split),
    )


def _relevant(labels: pd.DataFrame, split: Split) -> Booleans | None:
    column = {str(clip): index for index, clip in enumerate(split.clips)}
    rows: dict[str, list[int]] = {}
    for row, caption in enumerate(split.captions):
        rows.setdefault(str(caption), []).append(row)
    relevant = np.zeros((len(split.captions), len(split.clips)), dtype=bool)
    for caption, clip in zip(labels["caption"], labels["clip"], strict=True):
        if clip in column:
            relevant[rows.get(caption, []), column[clip]] = True
    return relevant if relevant.any() else None
