"""Bytes of the stored networks, as Table 1 and Figure 4 show them."""

import pandas as pd

from triptych.report.tables import with_cells

MEGABYTE = 1_000_000  # bytes; Table 1 fits decimal megabytes only
# Table 1's published bytes fit these two tasks (equal shapes) and not Hopper.
PUBLISHED_TASKS = ("halfcheetah", "walker2d")
CASE = ("method", "sparsity_percent", "format")
Case = tuple[str, float, str]
"""Values of CASE."""


def mean_megabytes(sizes: pd.DataFrame) -> pd.DataFrame:
    """Mean megabytes over seeds by task, method, sparsity, network, format. sizes: of sizes.csv."""
    key = ["task", "networks", "method", "sparsity_percent", "network", "format"]
    files = sizes.groupby(key, as_index=False)
    means = files.agg(value=("bytes", "mean"), seeds=("seed", "nunique"))
    return means.assign(value=means["value"] / MEGABYTE)


def beside_published(frame: pd.DataFrame, published: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Megabytes beside the published ones, which are shown for the tasks whose networks have the
    sizes of the paper's bytes. published: CASE, network, published (megabytes)."""
    same = {"sparsity_percent": frame["sparsity_percent"].dtype}
    printed = published[[*CASE, "network", "published"]].astype(same)
    both = frame.merge(printed, how="left", on=[*CASE, "network"])
    both["published"] = both["published"].where(both["task"].isin(PUBLISHED_TASKS))
    return with_cells(both, unit="MB", scale=scale)
