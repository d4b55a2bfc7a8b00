"""Figure 3. Results by backbone.

Content, style and the result of Version 1 with each backbone, with the final loss relative to the
first and the seconds of the run.
"""

from matplotlib.figure import Figure

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.panels import Experiment, picture_figure, saying_missing
from triptych.style.report.runs import backbone_name


@saying_missing
def figure(shown: Experiment) -> Figure:
    return picture_figure([shown.row(shown.runs, title=backbone_name)])


if __name__ == "__main__":
    with job(snakemake):
        shown = Experiment.read(snakemake.input, snakemake.params.scale)
        write_figure(figure(shown), shown.long, snakemake.output)
