"""Figure 1. The estimate against throws.

Estimates of pi from {{ needle.seeds | length }} seeds, a line each; the black line is pi.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import styled, write_figure
from triptych.report.tables import with_cells


@styled
def figure(throws: pd.DataFrame) -> Figure:
    """Estimates against throws, a line a seed."""
    drawn = Figure(figsize=(4, 2.5), layout="constrained")
    axes = drawn.subplots()
    for seed, line in throws.groupby("seed"):
        axes.plot(line["throws"], line["value"], label=f"seed {seed}")
    axes.axhline(np.pi, color="black")
    axes.set(xlabel="throws", ylabel="estimate")
    axes.legend()
    return drawn


if __name__ == "__main__":
    with job(snakemake):
        throws = read_frames(snakemake.input.throws).rename(columns={"pi": "value"})
        long = with_cells(throws, unit="1", scale=snakemake.params.scale)
        write_figure(figure(long), long, snakemake.output)
