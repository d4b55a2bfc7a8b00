"""Bootstrap intervals and the interquartile mean, in numpy.

Percentile bootstrap, seeded, so that the same scores always give the same interval. The
aggregate over tasks follows Agarwal et al. 2021, "Deep RL at the edge of the statistical
precipice" (rliable): the mean of the middle half of all runs, with runs resampled within
each task.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Reduces the last axis of an array."""


@dataclass(frozen=True)
class Interval:
    """An estimate and the two ends of its interval (nan where one run gives none)."""

    estimate: float
    low: float
    high: float

    def text(self, digits: int = 2) -> str:
        """The interval as a person writes it: ``0.97 [0.91, 1.02]``."""
        if not np.isfinite(self.low):
            return f"{self.estimate:.{digits}f} [one run: no interval]"
        return f"{self.estimate:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the last axis."""
    return np.asarray(np.mean(values, axis=-1))


def interquartile_mean(values: ArrayLike) -> NDArray[np.float64]:
    """Mean of the middle half over the last axis, as rliable defines it.

    The lowest and the highest ``floor(n / 4)`` of the n values are left out, which is
    ``scipy.stats.trim_mean(values, 0.25)``.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    cut = ordered.shape[-1] // 4
    return mean(ordered[..., cut : ordered.shape[-1] - cut])


def bootstrap(
    values: ArrayLike,
    statistic: Statistic = mean,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of a statistic of independent runs.

    values: [n], finite. Raises ValueError for no values or values that are not finite.
    """
    sample = _finite(values, "values")
    draws = statistic(sample[_indices(len(sample), resamples, seed)])
    return _interval(float(statistic(sample)), draws, level, runs=len(sample))


def bootstrap_ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Interval of mean(numerator) / mean(denominator), resampled in pairs.

    numerator, denominator: [n], entry i of both from the same seed. The denominator's mean
    must be positive: a ratio to a score of zero or less says nothing (ValueError).
    """
    above, below = _paired(numerator, denominator)
    if below.mean() <= 0:
        raise ValueError(
            f"the ratio needs a positive mean in its denominator, got {below.mean():.3g}"
        )
    index = _indices(len(above), resamples, seed)
    means = below[index].mean(axis=-1)
    # A resample whose denominator is not positive has no meaningful ratio: it counts as
    # unbounded on the side of its numerator, so that the interval widens and never narrows.
    tops = above[index].mean(axis=-1)
    unbounded = np.where(tops < 0, -np.inf, np.inf)
    draws = np.divide(tops, means, out=unbounded, where=means > 0)
    return _interval(float(above.mean() / below.mean()), draws, level, runs=len(above))


def bootstrap_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Interval of mean(first - second), resampled in pairs. Both [n], paired by entry."""
    one, other = _paired(first, second)
    return bootstrap(one - other, level=level, resamples=resamples, seed=seed)


def stratified_bootstrap(
    strata: Sequence[ArrayLike],
    statistic: Statistic = interquartile_mean,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Interval of a statistic of all runs together, runs resampled within each stratum.

    strata: one array [n_i] a task; the statistic sees all of them as one sample.
    """
    samples = [_finite(values, f"stratum {i}") for i, values in enumerate(strata)]
    if not samples:
        raise ValueError("a stratified bootstrap needs at least one stratum, got none")
    draws = [
        sample[_indices(len(sample), resamples, (seed, i))] for i, sample in enumerate(samples)
    ]
    return _interval(
        float(statistic(np.concatenate(samples))),
        statistic(np.concatenate(draws, axis=1)),
        level,
        runs=max(len(sample) for sample in samples),
    )


def _indices(size: int, resamples: int, seed: int | tuple[int, int]) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    return generator.integers(0, size, size=(resamples, size))


def _interval(estimate: float, draws: NDArray[np.float64], level: float, runs: int) -> Interval:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if runs < 2:
        return Interval(estimate, float("nan"), float("nan"))
    tail = 50 * (1 - level)
    # Interpolating towards an infinite draw gives nan; the nearest draw outside does not.
    low = np.percentile(draws, tail, method="lower")
    high = np.percentile(draws, 100 - tail, method="higher")
    return Interval(estimate, float(low), float(high))


def _finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0:
        raise ValueError(f"{name}: one axis with at least one run expected, got {sample.shape}")
    if not np.isfinite(sample).all():
        raise ValueError(f"{name}: a score is not finite: {sample[~np.isfinite(sample)][0]}")
    return sample


def _paired(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    one, other = _finite(first, "first"), _finite(second, "second")
    if one.shape != other.shape:
        raise ValueError(f"paired samples of one length expected, got {len(one)} and {len(other)}")
    return one, other
