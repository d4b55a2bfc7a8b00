"""Draw the learning curves of docs/results/bc-long; `make docs` runs this."""

import sys
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from triptych.report.palette import STYLE  # noqa: E402
from triptych.rl.report.figures import EXTREMES, draw_line, score_panels  # noqa: E402
from triptych.rl.report.labels import METHOD_LOOKS  # noqa: E402
from triptych.rl.tasks.task import NORMALISED  # noqa: E402

LONG_RUN = ROOT / "docs/results/bc-long"


def draw() -> None:
    """Score against updates of the long run, on raw and on normalised observations."""
    curves = pd.read_csv(LONG_RUN / "curves.csv").assign(algorithm="BC", unit=NORMALISED, data="")
    keys = ["task", "data", "algorithm", "unit", "observations", "method", "update"]
    scores = curves.groupby(keys)["score_normalised_mean"]
    found = scores.agg(value="mean", minimum="min", maximum="max").reset_index()

    def draw(axes: Axes, cells: pd.DataFrame, _algorithm: str) -> None:
        for method in ("dense", "snip", "grasp"):
            for kind, dash in (("normalised", "dotted"), ("raw", "solid")):
                line = cells[(cells["method"] == method) & (cells["observations"] == kind)]
                look = METHOD_LOOKS[method]
                how = {"color": look.colour, "linestyle": dash, "label": f"{look.label}, {kind}"}
                band = EXTREMES if kind == "raw" else None
                draw_line(axes, line["update"], line, band, **how)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.xaxis.set_major_formatter(lambda update, _: f"{update:,.0f}")

    figure = score_panels(found, draw, "updates", legend_columns=3)
    with matplotlib.rc_context(STYLE):
        figure.savefig(LONG_RUN / "curves.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw()
