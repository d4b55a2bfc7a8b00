"""Scores of systems on the same queries, and their differences with intervals over clips."""

import pandas as pd

from triptych.audio.report.rows import SYSTEM
from triptych.report.statistics import Interval, ratio_interval


def measured(queries: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Each of METRICS as a share: a row a query, named by (clip, query), a column a system.

    queries: rows of queries.csv with `kind`, one a query and system.
    """
    ranks = queries.pivot(index=["clip", "query"], columns=SYSTEM, values="rank")
    shares = {"map_at_10": (1 / ranks).where(ranks <= 10, 0.0)}
    shares |= {f"r_at_{most}": (ranks <= most).astype(float) for most in (1, 5, 10)}
    return {metric: share.where(ranks.notna()) for metric, share in shares.items()}


def gaps(queries: pd.DataFrame, first: str | None, second: str | None) -> pd.DataFrame:
    """Gains of one corpus over another in percentage points, mean over the systems of both: a row a
    query that all of them ranked, a column a metric. queries: as `measured` takes them."""
    corpora = [measured(queries[queries["corpus"] == corpus]) for corpus in (first, second)]
    differences = {}
    for metric in corpora[0]:
        one, other = corpora[0][metric].align(corpora[1][metric], join="inner")
        differences[metric] = 100 * (one - other).dropna().mean(axis=1)
    return pd.DataFrame(differences)


def mean_over_clips(values: pd.Series) -> Interval:
    """Mean over queries, named by (clip, query), with its 95% interval over clips."""
    by_clip = values.groupby(level="clip")
    # A mean over queries is a ratio of sums over clips, however many captions a clip has.
    return ratio_interval(by_clip.sum().to_numpy(), by_clip.size().to_numpy())


def interval_cells(differences: pd.DataFrame) -> pd.DataFrame:
    """Mean differences over queries with their intervals, a row a metric. differences: as `gaps`
    returns them."""
    clips = differences.index.get_level_values("clip").nunique()
    cells = []
    for metric, values in differences.items():
        interval = mean_over_clips(values)
        ends = {"value": interval.estimate, "low": interval.low, "high": interval.high}
        cells.append({"metric": metric, **ends, "queries": len(values), "clips": clips})
    return pd.DataFrame(cells)
