"""Compare how two models search recordings that neither was trained on.

A caption is a query, as a person types it; the recordings are ranked as `triptych search` ranks
them, by their best segment. Recordings that share a caption are all right for it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.apps.sounds.adapting.recordings import Recording
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import (
    Floats,
    average_precisions,
    chance_average_precision,
    hits,
    ranks,
)

if TYPE_CHECKING:
    from torch import Tensor

CUTOFFS = (10, 16)
"""Of the mean average precision: that of the challenges of 2023 and of 2025."""
RECALLS = (1, 5, 10)
COLUMNS = (
    "metric",
    "chance",
    "before",
    "before_low",
    "before_high",
    "after",
    "after_low",
    "after_high",
    "gain",
    "gain_low",
    "gain_high",
    "queries",
    "recordings",
)
FEW = 30
"""Recordings below which the intervals themselves are not to be trusted."""

Booleans = NDArray[np.bool_]


class HeldOut:
    """Recordings, and the captions that are asked of them.

    captions: [Q], each once;  relevant: bool [Q, C], which recordings have which caption
    """

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = sorted(recordings, key=lambda recording: recording.path)
        self.captions = list(dict.fromkeys(text for r in self._recordings for text in r.captions))
        captions_of = [set(recording.captions) for recording in self._recordings]
        self.relevant = np.array([[c in some for some in captions_of] for c in self.captions])

    def scores(self, segments: Mapping[str, "Tensor"], texts: Mapping[str, "Tensor"]) -> Floats:
        """Scores [Q, C] of captions and recordings: the cosine of the best segment.

        segments: unit vectors [S, D] by a recording's path; texts: [D] by caption
        """
        queries = [texts[caption] for caption in self.captions]
        best = [
            [float((segments[r.path] @ query).max()) for r in self._recordings] for query in queries
        ]
        return np.array(best)

    def compare(self, before: Floats, after: Floats) -> pd.DataFrame:
        """A row a metric, COLUMNS: its mean over captions with both models, and the gain.

        before, after: of `scores`. low, high: ends of a 95% interval, from resampled recordings;
        the gain's is of the differences, caption by caption.
        """
        clusters = np.array(self.relevant.argmax(1).astype(str))
        resamples = ClusterResamples(clusters)
        measured = [self._per_query(scores) for scores in (before, after)]
        chance = self._chance()
        queries, recordings = self.relevant.shape
        rows = []
        for metric, expected in chance.items():
            first, second = (scores[metric] for scores in measured)
            row: list[float | str] = [metric, expected]
            for values in (first, second, second - first):
                interval = resamples.interval(values)
                row += [interval.estimate, interval.low, interval.high]
            rows.append([*row, queries, recordings])
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _per_query(self, scores: Floats) -> dict[str, Floats]:
        best = np.where(self.relevant, scores, -np.inf).argmax(1)
        of_ranks = ranks(scores, best)
        return {
            **{f"map_at_{k}": average_precisions(scores, self.relevant, k) for k in CUTOFFS},
            **{f"r_at_{cutoff}": hits(of_ranks, cutoff) for cutoff in RECALLS},
        }

    def _chance(self) -> dict[str, float]:
        """Expected values of a random order."""
        clips, right = self.relevant.shape[1], self.relevant.sum(1).tolist()

        def missed(cutoff: int, relevant: int) -> float:
            cutoff = min(cutoff, clips)
            return math.comb(clips - relevant, cutoff) / math.comb(clips, cutoff)

        return {
            **{
                f"map_at_{k}": float(
                    np.mean([chance_average_precision(clips, k, n) for n in right])
                )
                for k in CUTOFFS
            },
            **{f"r_at_{k}": 1 - float(np.mean([missed(k, n) for n in right])) for k in RECALLS},
        }


NAMES = {
    **{f"map_at_{k}": f"mAP@{k}" for k in CUTOFFS},
    **{f"r_at_{k}": f"R@{k}" for k in RECALLS},
}


def as_text(table: pd.DataFrame) -> str:
    """The scores of `compare` as text for a terminal."""
    lines = [f"{'held out':9}{'chance':>8}  {'before':22}{'after':22}gain"]
    for row in table.to_dict("records"):
        cells = []
        for part, sign in (("before", ""), ("after", ""), ("gain", "+")):
            value, low, high = (row[f"{part}{end}"] for end in ("", "_low", "_high"))
            cells.append(f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]")
        name = NAMES[row["metric"]]
        lines.append(f"{name:9}{row['chance']:8.3f}  {cells[0]:22}{cells[1]:22}{cells[2]}")
    return "\n".join(lines)


def verdict(table: pd.DataFrame) -> str:
    """A sentence about the gain in mAP@10, and a caution where there are few recordings."""
    row = table.iloc[0]
    queries, recordings = int(row["queries"]), int(row["recordings"])
    sentences = []
    if recordings < FEW:
        sentences.append(
            f"{recordings} recordings held out are too few to tell: the intervals themselves are "
            f"uncertain below {FEW}."
        )
    elif row["gain_low"] > 0:
        sentences.append("The adapted model is better on recordings that it has not heard.")
    elif row["gain_high"] < 0:
        sentences.append("The adapted model is WORSE on recordings that it has not heard.")
    else:
        sentences.append(
            f"{recordings} recordings with {queries} captions are too few to tell whether the "
            "adapted model is better: the gain's interval holds 0."
        )
    if recordings <= max(RECALLS):
        sentences.append(f"Of {recordings} recordings the first {max(RECALLS)} are all: R@10 is 1.")
    return " ".join(sentences)
