"""Figure 5. Loss history by optimizer.

Total loss of Version 1 by optimizer, relative to its first value, logarithmic axis: with the
authors' learning rates (left) and with tuned ones (right), a row for each backbone. A cross marks a
run that diverged or stopped being finite.
"""

from matplotlib.figure import Figure

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.curves import loss_figure, with_looks
from triptych.style.report.labels import OPTIMIZER_LOOKS
from triptych.style.report.panels import Experiment, saying_missing
from triptych.style.report.runs import rates_name


@saying_missing
def figure(shown: Experiment) -> Figure:
    totals = shown.history[shown.history["term"] == "total"]
    panels = [rates_name(run) for run in totals.to_dict("records")]
    return loss_figure(with_looks(totals, "optimizer", OPTIMIZER_LOOKS).assign(panel=panels))


if __name__ == "__main__":
    with job(snakemake):
        shown = Experiment.read(snakemake.input, snakemake.params.scale)
        write_figure(figure(shown), shown.history, snakemake.output)
