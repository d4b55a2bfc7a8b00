"""Compare how two models search recordings that neither was trained on.

A caption is a query, as a person types it; the recordings are ranked as `triptych search` ranks
them, by their best segment. Recordings that share a caption are all right for it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from scipy.stats import hypergeom
from torch import Tensor

from triptych.apps.sounds.adapting.recordings import Recording
from triptych.audio.models.retrieval import unit_vectors
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import (
    Floats,
    average_precisions,
    chance_average_precision,
    hits,
    ranks,
)

CUTOFFS = (10, 16)
"""Of the mean average precision: that of the challenges of 2023 and of 2025."""
RECALLS = (1, 5, 10)
FEW = 30
"""Recordings below which the intervals themselves are not to be trusted."""

NAMES = {
    **{f"map_at_{k}": f"mAP@{k}" for k in CUTOFFS},
    **{f"r_at_{k}": f"R@{k}" for k in RECALLS},
}

Maps = tuple[Tensor, Tensor]
"""Matrices [D, D] that map embeddings of recordings and of captions."""


class HeldOut:
    """Recordings, and the captions that are asked of them.

    captions: [Q], each once;  relevant: bool [Q, C], which recordings have which caption
    """

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = sorted(recordings, key=lambda recording: recording.path)
        self.captions = list(dict.fromkeys(text for r in self._recordings for text in r.captions))
        captions_of = [set(recording.captions) for recording in self._recordings]
        self.relevant = np.array([[c in some for some in captions_of] for c in self.captions])

    def scores(self, texts: Mapping[str, Tensor], maps: Maps) -> Floats:
        """Scores [Q, C] of captions and recordings: the cosine of the best segment.

        texts: unit vectors [D] of the captions.
        """
        audio, text = maps
        queries = unit_vectors(torch.stack([texts[caption] for caption in self.captions]) @ text)
        best = [(queries @ unit_vectors(r.segments @ audio).T).amax(1) for r in self._recordings]
        return torch.stack(best, dim=1).double().numpy()

    def compare(self, before: Floats, after: Floats) -> pd.DataFrame:
        """A row for each metric: chance, its mean over captions with both models, and the gain.

        before, after: as `scores` returns them. Columns that end in _low and _high are the ends of
        95% intervals, from resampled recordings; the gain's is of the differences, caption by
        caption.
        """
        clusters = np.array(self.relevant.argmax(1).astype(str))
        resamples = ClusterResamples(clusters)
        first, second = map(self._per_query, (before, after))
        queries, recordings = self.relevant.shape
        rows = []
        for metric, chance in self._chance().items():
            gain = second[metric] - first[metric]
            row: dict[str, float | str] = {"metric": metric, "chance": chance}
            row |= _interval("before", resamples, first[metric])
            row |= _interval("after", resamples, second[metric])
            row |= _interval("gain", resamples, gain)
            rows.append(row | {"queries": queries, "recordings": recordings})
        return pd.DataFrame(rows)

    def _per_query(self, scores: Floats) -> dict[str, Floats]:
        best = np.where(self.relevant, scores, -np.inf).argmax(1)
        of_ranks = ranks(scores, best)
        return {
            **{f"map_at_{k}": average_precisions(scores, self.relevant, k) for k in CUTOFFS},
            **{f"r_at_{cutoff}": hits(of_ranks, cutoff) for cutoff in RECALLS},
        }

    def _chance(self) -> dict[str, float]:
        """Expected values of a random order."""
        clips, right = self.relevant.shape[1], self.relevant.sum(1)
        precisions = {k: [chance_average_precision(clips, k, n) for n in right] for k in CUTOFFS}
        found = {k: hypergeom.sf(0, clips, right, min(k, clips)) for k in RECALLS}
        return {
            **{f"map_at_{k}": float(np.mean(values)) for k, values in precisions.items()},
            **{f"r_at_{k}": float(np.mean(values)) for k, values in found.items()},
        }


def _interval(name: str, resamples: ClusterResamples, values: Floats) -> dict[str, float]:
    """Three columns: a mean and the ends of its interval."""
    interval = resamples.interval(values)
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


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
