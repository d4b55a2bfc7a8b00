"""Differences between two systems on the same queries, with intervals over clips."""

from collections.abc import Callable, Mapping

import pandas as pd

from triptych.report.statistics import Interval, ratio_interval

VALUES: Mapping[str, Callable[[pd.Series], pd.Series]] = {
    "map_at_10": lambda rank: (1 / rank).where(rank <= 10, 0.0),
    "r_at_1": lambda rank: (rank <= 1).astype(float),
    "r_at_5": lambda rank: (rank <= 5).astype(float),
    "r_at_10": lambda rank: (rank <= 10).astype(float),
}
"""Each metric of METRICS as one value a query."""


def mean_over_clips(values: pd.Series) -> Interval:
    """Mean over queries, indexed by (clip, query), with its 95% interval over clips."""
    by_clip = values.groupby(level="clip")
    # A mean over queries is a ratio of sums over clips, however many captions a clip has.
    return ratio_interval(by_clip.sum().to_numpy(), by_clip.size().to_numpy())


def ranks_of(queries: pd.DataFrame) -> pd.Series:
    """One system's ranks, indexed by (clip, query), from its rows of queries.csv."""
    return queries.set_index(["clip", "query"])["rank"]


def gaps(first: pd.Series, second: pd.Series) -> pd.DataFrame:
    """The first system's values minus the second's in percentage points, from their ranks: a row a
    query that both have, a column a metric."""
    one, other = first.align(second, join="inner")
    return pd.DataFrame({name: 100 * (of(one) - of(other)) for name, of in VALUES.items()})


def interval_cells(differences: pd.DataFrame) -> pd.DataFrame:
    """Mean differences over queries with their intervals, a row a metric. differences: as `gaps`
    returns them."""
    intervals = {metric: mean_over_clips(values) for metric, values in differences.items()}
    return pd.DataFrame(
        {
            "metric": [*intervals],
            "value": [interval.estimate for interval in intervals.values()],
            "low": [interval.low for interval in intervals.values()],
            "high": [interval.high for interval in intervals.values()],
            "queries": len(differences),
            "clips": differences.index.get_level_values("clip").nunique(),
        }
    )
