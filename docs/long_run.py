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
from triptych.rl.report.figures import score_panels  # noqa: E402
from triptych.rl.report.labels import METHOD_LOOKS  # noqa: E402

LONG_RUN = ROOT / "docs/results/bc-long"


def draw() -> None:
    """Score against updates of the long run, on raw and on normalised observations."""
    curves = pd.read_csv(LONG_RUN / "curves.csv").assign(algorithm="BC")
    keys = ["task", "algorithm", "observations", "method", "update"]
    found = curves.groupby(keys)["score_normalised_mean"].agg(["mean", "min", "max"]).reset_index()

    def draw(axes: Axes, cells: pd.DataFrame, _task: str, _algorithm: str) -> None:
        for method in ("dense", "snip", "grasp"):
            for kind, dash in (("normalised", "dotted"), ("raw", "solid")):
                line = cells[(cells["method"] == method) & (cells["observations"] == kind)]
                look = METHOD_LOOKS[method]
                colour, name = look.colour, f"{look.label}, {kind}"
                how = {"color": colour, "linestyle": dash, "label": name}
                axes.plot(line["update"], line["mean"], **how)
                if kind == "raw":
                    ends = line["min"], line["max"]
                    axes.fill_between(line["update"], *ends, color=colour, alpha=0.13, linewidth=0)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.xaxis.set_major_formatter(lambda update, _: f"{update:,.0f}")
        axes.grid(axis="x", visible=False)
        axes.set_ylim(bottom=0)

    figure = score_panels(found, draw, "updates", legend_columns=3)
    with matplotlib.rc_context(STYLE):
        figure.savefig(LONG_RUN / "curves.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw()
