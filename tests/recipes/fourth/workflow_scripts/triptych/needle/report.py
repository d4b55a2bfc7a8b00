"""The study's table, figure and claim."""

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from triptych.report.claims import Finding, Need, at_least, claim
from triptych.report.page import Part
from triptych.report.palette import STYLE
from triptych.report.tables import Table, number, with_cells


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


PARTS = {
    "needle-pi-section": Part(
        title="Pi",
        text="Needles.",
        keys=("needle.throws", "needle.seeds"),
        figures={"needle_figure1": "Figure 1. The estimate against throws."},
        tables={"table1": table},
    )
}


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


CLOSE = 0.05
SEEDS = 2


def needs(plan: Any) -> Iterator[Need]:
    """What the claim needs of a run. plan: its Workflow."""
    yield at_least("two seeds", len(plan.config["seeds"]), SEEDS)


@claim("needle-pi", needs=needs)
def mean_is_pi(throws: pd.DataFrame) -> Finding:
    """The mean over seeds is within {CLOSE} of pi."""
    mean = throws.groupby("seed")["pi"].last().mean()
    return Finding(f"mean {mean:.3f}", "", [] if abs(mean - np.pi) < CLOSE else ["it is off"])


CLAIMS = (mean_is_pi,)
