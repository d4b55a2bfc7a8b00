"""Bootstrap intervals over queries that come in groups: the captions of one clip.

The five captions of a clip describe the same sound, so their ranks go together. Resampling single
queries would take them for independent and give intervals that are too narrow; here whole clips
are drawn, each with all its captions (the cluster bootstrap).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from triptych.core.statistics import LEVEL, Interval

RESAMPLES = 2000


class ClusterResamples:
    """Seeded resamples of clusters, drawn once and used for many metrics of the same queries.

    clusters: the clip of each query, [Q]. The same clusters and seed give the same resamples, so
    that values of two models can be compared by their difference, query by query.
    """

    def __init__(
        self,
        clusters: Sequence[str] | NDArray[np.str_],
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> None:
        names, self._cluster = np.unique(np.asarray(clusters), return_inverse=True)
        if not len(names):
            raise ValueError("an interval needs at least one query, got none")
        count = len(names)
        self._sizes = np.bincount(self._cluster, minlength=count).astype(np.float64)
        generator = np.random.default_rng(seed)
        self._times = generator.multinomial(count, np.full(count, 1 / count), resamples).astype(
            np.float64
        )

    def interval(self, values: ArrayLike) -> Interval:
        """Mean of the values [Q] and its 95% percentile interval (nan where there is one cluster).

        For the gain of one model over another give the differences of their values.
        """
        sample = np.asarray(values, dtype=np.float64)
        if sample.shape != self._cluster.shape:
            raise ValueError(
                f"values: one a query expected, {len(self._cluster)}, got {sample.shape}"
            )
        if not np.isfinite(sample).all():
            raise ValueError("values: some are not finite")
        estimate = float(sample.mean())
        if len(self._sizes) < 2:
            return Interval(estimate, float("nan"), float("nan"))
        sums = np.bincount(self._cluster, weights=sample, minlength=len(self._sizes))
        means = (self._times @ sums) / (self._times @ self._sizes)
        low, high = np.percentile(means, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
        return Interval(estimate, float(low), float(high))
