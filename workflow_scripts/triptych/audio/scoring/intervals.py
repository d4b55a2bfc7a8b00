"""Bootstrap intervals over queries that come in groups: the captions of one clip.

Their ranks go together, so whole clips are drawn, each with all its captions (cluster bootstrap).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from triptych.report.statistics import LEVEL, Interval

RESAMPLES = 2000


class ClusterResamples:
    """Resamples of clusters, drawn once and used for many metrics of the same queries.

    clusters: the clip of each query, [Q]. The same clusters give the same resamples.
    """

    def __init__(
        self, clusters: Sequence[str] | NDArray[np.str_], resamples: int = RESAMPLES
    ) -> None:
        names, self._cluster = np.unique(np.asarray(clusters), return_inverse=True)
        count = len(names)
        self._sizes = np.bincount(self._cluster, minlength=count).astype(np.float64)
        generator = np.random.default_rng(0)
        self._times = generator.multinomial(count, np.full(count, 1 / count), resamples).astype(
            np.float64
        )

    def interval(self, values: ArrayLike) -> Interval:
        """Mean of the values [Q] and its 95% percentile interval (nan for one cluster)."""
        sample = np.asarray(values, dtype=np.float64)
        estimate = float(sample.mean())
        if len(self._sizes) < 2:
            return Interval(estimate, float("nan"), float("nan"))
        low, high = np.percentile(self._means(sample), [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
        return Interval(estimate, float(low), float(high))

    def simultaneous(self, values: ArrayLike) -> list[Interval]:
        """Means of several values a query [S, Q] with intervals that hold all at once in 95%.

        The bootstrap's largest deviation of the S means, each over its standard error, takes the
        place of a normal's quantile (the max-t method). A mean without spread has no width.
        """
        samples = np.asarray(values, dtype=np.float64)
        estimates = samples.mean(axis=1)
        if len(self._sizes) < 2:
            return [Interval(float(mean), float("nan"), float("nan")) for mean in estimates]
        resampled = np.stack([self._means(sample) for sample in samples])
        errors = resampled.std(axis=1, ddof=1)
        moves = errors > 0
        reach = 0.0
        if moves.any():
            deviations = np.abs(resampled - estimates[:, None])[moves] / errors[moves, None]
            reach = float(np.percentile(deviations.max(axis=0), 100 * LEVEL))
        return [
            Interval(float(mean), float(mean - reach * error), float(mean + reach * error))
            for mean, error in zip(estimates, errors, strict=True)
        ]

    def _means(self, sample: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.bincount(self._cluster, weights=sample, minlength=len(self._sizes))
        return np.asarray((self._times @ sums) / (self._times @ self._sizes))
