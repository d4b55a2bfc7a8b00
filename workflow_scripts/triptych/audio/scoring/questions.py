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


@dataclass(frozen=True)
class Questions:
    """The queries of a split, the clips that they are to find, and the subsets that count.

    clips [C], queries [Q] (captions); columns: [Q] of the true clips; subsets: masks over the
    queries [Q], none of them empty, "all" first.
    """

    split: str
    clips: NDArray[np.str_]
    queries: NDArray[np.str_]
    columns: Integers
    subsets: Mapping[str, Booleans]

    @cached_property
    def resamples(self) -> dict[str, ClusterResamples]:
        return {
            subset: ClusterResamples(self.clips[self.columns[rows]])
            for subset, rows in self.subsets.items()
        }

    def measure(self, scores: Floats) -> list[dict[str, Any]]:
        """Rows of subset, relevance, metric, value, low, high, queries, clips.

        scores: [Q, C].
        """
        of_ranks = ranks(scores, self.columns)
        per_query = {"map_at_10": reciprocal_ranks(of_ranks, 10)}
        per_query |= {f"r_at_{cutoff}": hits(of_ranks, cutoff) for cutoff in RECALLS}
        return [
            self._row(subset, metric, self.resamples[subset].interval(values[rows]))
            for subset, rows in self.subsets.items()
            for metric, values in per_query.items()
        ]

    def chance(self) -> list[dict[str, Any]]:
        """Rows as `measure` gives, of an order drawn at random: expected values, no intervals."""
        clips = len(self.clips)
        expected = {"map_at_10": chance_average_precision(clips, 10)}
        expected |= {f"r_at_{cutoff}": chance_recall(clips, cutoff) for cutoff in RECALLS}
        return [
            self._row(subset, metric, Interval(value, np.nan, np.nan))
            for subset in self.subsets
            for metric, value in expected.items()
        ]

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

    def _row(self, subset: str, metric: str, mean: Interval) -> dict[str, Any]:
        return {
            "split": self.split,
            "subset": subset,
            "relevance": "single",  # each query has one right clip
            "metric": metric,
            "value": mean.estimate,
            "low": mean.low,
            "high": mean.high,
            "queries": int(self.subsets[subset].sum()),
            "clips": len(self.clips),
        }


def ask(name: str, split: Split, scenes: pd.DataFrame | None = None) -> Questions:
    """The questions of a split. scenes: clip and seen, for synthesised clips.

    Raises KeyError for a query whose true clip is not ranked.
    """
    columns = columns_of(list(split.query_clips), list(split.clips))
    subsets = {"all": np.ones(len(columns), dtype=bool)}
    if scenes is not None:
        of_clips = scenes.set_index("clip").reindex(split.clips)
        flags = of_clips["seen"].astype(str).to_numpy()[columns]
        subsets |= {"seen": flags == "1", "unseen": flags == "0"}
    return Questions(
        name,
        split.clips,
        split.captions,
        columns,
        {subset: rows for subset, rows in subsets.items() if rows.any()},
    )
