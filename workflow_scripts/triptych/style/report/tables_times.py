"""Times of Version 1 by content loss (Figure 4), and to reach a loss rather than a step count."""

import numpy as np
import pandas as pd

from triptych.core.statistics import ratio_interval
from triptych.report.palette import label
from triptych.report.tables import DASH, Table, number, with_cells
from triptych.report.timings import duration
from triptych.style.report.labels import BACKBONE_COLOURS, OPTIMIZER_LABELS, RATES_LABELS

BASELINE = "mse"
NO_DIFFERENCE = "no difference"


def loss_times_long(timing: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Seconds of every repeat by content loss, and each loss's paired difference to MSE.

    timing: rows of timing/losses.csv, all losses once in each repeat. `statistic` is
    `seconds` (one row a repeat) or `difference_percent` (one row a loss: the ratio of mean
    seconds to MSE's less one, with its 95% interval over paired repeats, and
    a verdict: slower, faster, or no difference where the interval holds zero).
    Raises ValueError where MSE was not timed.
    """
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    if BASELINE not in wide:
        raise ValueError(f"no time of content loss {BASELINE!r}: {sorted(map(str, wide))}")
    rows = []
    for loss in wide.columns:
        both = wide[[loss, BASELINE]].dropna() if loss != BASELINE else None
        if both is None or both.empty:
            continue
        ratio = ratio_interval(both[loss].to_numpy(), both[BASELINE].to_numpy())
        rows.append(
            {
                "content_loss": loss,
                "statistic": "difference_percent",
                "repeats": len(both),
                "value": 100 * (ratio.estimate - 1),
                "low": 100 * (ratio.low - 1),
                "high": 100 * (ratio.high - 1),
                "verdict": time_verdict(100 * (ratio.low - 1), 100 * (ratio.high - 1)),
            }
        )
    seconds = timing.rename(columns={"seconds": "value"}).assign(statistic="seconds")
    columns = ["content_loss", "repeat", "evaluations", "size", "device"]
    once = timing[["evaluations", "size", "device"]].iloc[0].to_dict()
    differences = pd.DataFrame([row | once for row in rows])
    return pd.concat(
        [
            with_cells(seconds[["statistic", *columns, "value"]], unit="seconds", scale=scale),
            with_cells(differences, unit="percent", scale=scale),
        ],
        ignore_index=True,
    )


def time_verdict(low: float, high: float) -> str:
    """What an interval of a difference in time says."""
    if np.isnan(low):
        return "one repeat: no verdict"
    if low > 0:
        return "slower"
    return "faster" if high < 0 else NO_DIFFERENCE


def targets_long(targets: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Seconds to reach a relative loss, one row a backbone, optimizer, rates and target.

    targets: rows of timing/targets.csv; `value` is empty where the loss was not reached.
    """
    frame = targets.copy()
    frame["reached"] = frame["reached"].astype(str).str.lower() == "true"
    frame["value"] = frame.pop("seconds").where(frame["reached"])
    frame["evaluations"] = frame["evaluations"].where(frame["reached"])
    return with_cells(frame, unit="seconds", scale=scale)


def targets_table(long: pd.DataFrame) -> Table:
    """Lay out `targets_long`: a row a setting, a column a target."""
    if "experiment" in long:
        # Other experiments vary what this table has no column for.
        long = long[long["experiment"].isin(["optimizers", "backbones"])]
    levels = sorted(set(long["relative_loss"]), reverse=True)
    keys = ["backbone", "optimizer", "rates"]
    rows = []
    for key, cells in long.groupby(keys, sort=False):
        assert isinstance(key, tuple)
        backbone, optimizer, rates = map(str, key)
        line = [
            {"vgg": "VGG", "alexnet": "AlexNet"}.get(backbone, backbone),
            label(OPTIMIZER_LABELS, optimizer),
            label(RATES_LABELS, rates),
        ]
        for level in levels:
            cell = cells[cells["relative_loss"] == level]
            if cell.empty:
                line.append(DASH)
            elif not cell["reached"].iloc[0]:
                line.append("not reached")
            else:
                line.append(
                    f"{duration(cell['value'].iloc[0])} ({number(cell['evaluations'].iloc[0], 0)})"
                )
        rows.append(
            (
                list(BACKBONE_COLOURS).index(backbone) if backbone in BACKBONE_COLOURS else 9,
                tuple(line),
            )
        )
    rows.sort(key=lambda row: row[0])
    first = long.iloc[0]
    return Table(
        name="style_targets",
        title="Seconds to reach a loss.",
        caption=(
            f"Version 1 at {int(first['size'])} px on {first['device']}: seconds until the total "
            "loss first falls to a share of what it was at the start, and in brackets the "
            "evaluations. The paper compares equal numbers of steps instead. A loss is relative "
            "to its own backbone, so compare optimizers within a backbone."
        ),
        columns=(
            ("", "Backbone"),
            ("", "Optimizer"),
            ("", "Learning rates"),
            *(("to a relative loss of", f"{level:g}") for level in levels),
        ),
        rows=tuple(row for _, row in rows),
        keys=3,
    )
