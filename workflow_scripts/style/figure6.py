"""Figure 6. Results by optimizer.

Results of Version 1 by optimizer, with the authors' learning rates and with tuned ones, on each
backbone. A run that ended badly shows its last good state.
"""

from matplotlib.figure import Figure

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.labels import OPTIMIZER_LOOKS, RATES_LABELS
from triptych.style.report.panels import Experiment, picture_figure, saying_missing
from triptych.style.report.runs import in_order, rates_name


@saying_missing
def figure(shown: Experiment) -> Figure:
    """A row for the authors' and for tuned rates on each backbone."""
    runs = in_order(shown.runs, "optimizer", OPTIMIZER_LOOKS)
    runs = in_order(runs, "rates", RATES_LABELS)
    rows = {
        rates_name(of_row.iloc[0].to_dict()): shown.row(
            of_row, title=lambda run: OPTIMIZER_LOOKS[run["optimizer"]].label
        )
        for _, of_row in runs.groupby(["architecture", "weights", "rates"], sort=False)
    }
    return picture_figure([*rows.values()], row_labels=[*rows], tallest=2.1)


if __name__ == "__main__":
    with job(snakemake):
        shown = Experiment.read(snakemake.input, snakemake.params.scale)
        write_figure(figure(shown), shown.long, snakemake.output)
