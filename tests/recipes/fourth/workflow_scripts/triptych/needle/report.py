"""The study's table, figure and claim."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from triptych.report.palette import STYLE
from triptych.report.tables import Table, number, with_cells
from triptych.report.verdicts import Verdict, decide

CRITERIA = {"needle-pi": "The mean over at least two seeds is within 0.05 of pi."}
TITLES = {"needle_figure1": "Figure 1. The estimate against throws."}


def table_long(throws: pd.DataFrame, scale: str) -> pd.DataFrame:
    """The last estimate of each seed, beside pi."""
    last = throws.groupby("seed").tail(1)[["seed", "throws", "pi"]]
    return with_cells(
        last.rename(columns={"pi": "value"}).assign(published=np.pi), unit="1", scale=scale
    )


def table(long: pd.DataFrame) -> Table:
    """Table 1 as shown."""
    return Table(
        name="needle_table1",
        title="Table 1. Estimates of pi.",
        caption="One a seed.",
        columns=(("", "Seed"), ("", "Estimate")),
        rows=tuple((str(row.seed), number(row.value, 3)) for row in long.itertuples()),
    )


def figure(throws: pd.DataFrame) -> Figure:
    """Estimates against throws, a line a seed."""
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=(4, 2.5), layout="constrained")
        axes = drawn.subplots()
        for seed, line in throws.groupby("seed"):
            axes.plot(line["throws"], line["pi"], label=f"seed {seed}")
        axes.axhline(np.pi, color="black")
        axes.set(xlabel="throws", ylabel="estimate")
        axes.legend()
    return drawn


def found(throws: pd.DataFrame) -> Verdict:
    """needle-pi: see CRITERIA."""
    last = throws.groupby("seed")["pi"].last()
    return decide(
        "needle-pi",
        obstacles=[] if len(last) > 1 else ["one seed"],
        failures=[] if abs(last.mean() - np.pi) < 0.05 else ["the mean is off"],
        measured=f"mean {last.mean():.3f}",
        interval="",
    )
