"""Figure 2. Loss history by backbone.

Total, style and content loss of Version 1 at every evaluation, each run relative to its own first
total loss, logarithmic axes. The content loss starts at 0 where the content image is the start.
"""

from matplotlib.figure import Figure

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.curves import loss_figure
from triptych.style.report.labels import BACKBONE_COLOURS
from triptych.style.report.panels import Experiment, saying_missing
from triptych.style.report.runs import backbone_name


@saying_missing
def figure(shown: Experiment) -> Figure:
    """The total loss by backbone, and what it is made of; logarithmic axes."""
    lines = shown.history.sort_values("backbone", ascending=False, kind="stable")
    return loss_figure(
        lines.assign(
            panel=lines["term"].str.capitalize() + " loss",
            label=[backbone_name(run) for run in lines.to_dict("records")],
            colour=lines["backbone"].map(BACKBONE_COLOURS),
        )
    )


if __name__ == "__main__":
    with job(snakemake):
        shown = Experiment.read(snakemake.input, snakemake.params.scale)
        write_figure(figure(shown), shown.history, snakemake.output)
