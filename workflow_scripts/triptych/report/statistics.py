"""Intervals over few runs: Student's t of means, Fieller's of ratios of means.

A percentile bootstrap of five values covers what it should four times in five; docs/results.md
has what each of these covers. Over tasks the interquartile mean, of the middle half of all runs, as
in Agarwal et al. 2021, "Deep RL at the edge of the statistical precipice" (rliable).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

LEVEL = 0.95
"""How often an interval should hold the truth."""


@dataclass(frozen=True)
class Interval:
    """An estimate and the two ends of its interval (nan where one run gives none, infinite where
    the runs bound nothing)."""

    estimate: float
    low: float
    high: float

    def text(self, digits: int = 2) -> str:
        """The interval as a person writes it: ``0.97 [0.91, 1.02]``."""
        return f"{self.estimate:z.{digits}f} {self.ends(digits)}"

    def side(self, null: float = 0) -> int:
        """1 where it lies above the null value, -1 below, 0 where it holds it or has no ends."""
        return int(self.low > null) - int(self.high < null)

    def ends(self, digits: int = 2, sign: str = "") -> str:
        """The two ends alone: ``[0.91, 1.02]``. sign: "+" writes the sign of both."""
        if np.isnan(self.low):
            return "[one run: no interval]"
        if np.isinf(self.low):
            return "[no bounds]"
        if np.isclose(self.low, self.high, rtol=1e-9, atol=0):
            return "[all equal]"
        return f"[{self.low:{sign}z.{digits}f}, {self.high:{sign}z.{digits}f}]"


def mean_interval(values: ArrayLike) -> Interval:
    """Student's t interval of the mean of independent runs.

    values: [n], finite. Raises ValueError for no values or values that are not finite.
    """
    sample = _finite(values, "values")
    estimate = float(sample.mean())
    if len(sample) < 2:
        return Interval(estimate, float("nan"), float("nan"))
    reach = _quantile(len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample))
    return Interval(estimate, estimate - float(reach), estimate + float(reach))


def difference_interval(first: ArrayLike, second: ArrayLike) -> Interval:
    """Student's t interval of mean(first - second). Both [n], paired by entry."""
    one, other = _paired(first, second)
    return mean_interval(one - other)


def crossed_interval(values: ArrayLike) -> Interval:
    """Interval of the mean over every pair of an entry of one sample and one of another.

    values: [rows, columns], such as pictures and paintings. Pairs that share an entry are alike, so
    the standard error is that of the rows' means and of the columns' means together, with
    Satterthwaite's degrees of freedom. With one row or column it is the t interval of the others.
    """
    table = np.asarray(values, dtype=np.float64)
    if min(table.shape) < 2:
        return mean_interval(table.ravel())
    means = (table.mean(axis=1), table.mean(axis=0))
    errors = np.array([mean.var(ddof=1) / len(mean) for mean in means])
    estimate, total = float(table.mean()), float(errors.sum())
    if not total:
        return Interval(estimate, estimate, estimate)
    freedom = total**2 / float((errors**2 / (np.array(table.shape) - 1)).sum())
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2) * np.sqrt(total))
    return Interval(estimate, estimate - reach, estimate + reach)


def ratio_interval(numerator: ArrayLike, denominator: ArrayLike) -> Interval:
    """Fieller's interval of mean(numerator) / mean(denominator), paired by entry.

    It holds every ratio r at which the t interval of mean(numerator - r * denominator) holds 0.
    Where the runs don't show that the denominator's mean differs from 0, both ends are infinite.
    numerator, denominator: [n], entry i of both from the same seed. Raises ValueError where the
    denominator's mean isn't positive.
    """
    above, below = _paired(numerator, denominator)
    top, bottom, runs = float(above.mean()), float(below.mean()), len(above)
    if bottom <= 0:
        raise ValueError(f"the ratio needs a positive mean in its denominator, got {bottom:.3g}")
    ratio = top / bottom
    if runs < 2:
        return Interval(ratio, float("nan"), float("nan"))
    quantile = _quantile(runs - 1)
    # Of residuals at the estimate, whose mean is 0: nothing large is taken from something large.
    rest = above - ratio * below
    covariance = np.cov(rest, below) * quantile**2 / runs
    bounded = bottom**2 - covariance[1, 1]
    if bounded <= 0:
        return Interval(ratio, float("-inf"), float("inf"))
    middle = -covariance[0, 1] / bounded
    reach = float(np.sqrt(max(middle**2 + covariance[0, 0] / bounded, 0.0)))
    return Interval(ratio, float(ratio + middle - reach), float(ratio + middle + reach))


def stratified_interval(strata: Sequence[ArrayLike], *, resamples: int = 10_000) -> Interval:
    """Interval of the interquartile mean of all runs together, runs resampled within each stratum.

    The lowest and the highest floor(n / 4) of all n runs are left out. The bootstrap gives the
    standard error, to which Student's t is applied; n values drawn from n vary too little by
    (n - 1) / n, so each stratum's spread is widened by as much. Degrees of freedom are
    Satterthwaite's: one stratum that varies most counts alone. strata: one array [n_i] a task.
    """
    from scipy.stats import trim_mean  # 0.3 s of import

    def middle(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.asarray(trim_mean(np.concatenate(parts, axis=-1), 0.25, axis=-1))

    samples = [_finite(values, f"stratum {i}") for i, values in enumerate(strata)]
    if not samples:
        raise ValueError("an interval over strata needs at least one of them, got none")
    estimate = float(middle(samples))
    if min(len(sample) for sample in samples) < 2:
        return Interval(estimate, float("nan"), float("nan"))
    wider = [x.mean() + np.sqrt(len(x) / (len(x) - 1)) * (x - x.mean()) for x in samples]
    generator = np.random.default_rng(0)
    drawn = [x[generator.integers(len(x), size=(resamples, len(x)))] for x in wider]
    kept = [np.broadcast_to(x, each.shape) for x, each in zip(wider, drawn, strict=True)]
    places = range(len(samples))
    own = np.array(
        [middle([drawn[j] if j == i else kept[j] for j in places]).var(ddof=1) for i in places]
    )
    degrees = np.array([len(sample) - 1 for sample in samples])
    freedom = own.sum() ** 2 / (own**2 / degrees).sum() if own.any() else degrees.sum()
    reach = _quantile(freedom) * float(middle(drawn).std(ddof=1))
    return Interval(estimate, estimate - reach, estimate + reach)


def _quantile(freedom: float) -> float:
    """Student's t at the upper end of a two-sided interval."""
    return float(stdtrit(freedom, (1 + LEVEL) / 2))


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
