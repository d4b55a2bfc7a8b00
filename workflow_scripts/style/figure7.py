"""Figure 7. Version 1: a photograph in several styles.

Top: the content image and the style images. Bottom: what Version 1 makes of the content in each
style. Where `scales` of the experiment is more than one, an image begins in the painting's colours
and small, and goes on at twice the size.
"""

from matplotlib.figure import Figure

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.panels import Experiment, picture_figure, saying_missing


@saying_missing
def figure(shown: Experiment) -> Figure:
    runs = shown.runs.drop_duplicates("painting")
    runs = runs[runs["content"] == runs["content"].iloc[0]]
    content, _, *results = shown.row(runs, title=lambda run: "Version 1")
    styles = [shown.sources(run)[1] for run in runs.to_dict("records")]
    return picture_figure([[content, *styles], [None, *results]], tallest=2.2)


if __name__ == "__main__":
    with job(snakemake):
        shown = Experiment.read(snakemake.input, snakemake.params.scale)
        write_figure(figure(shown), shown.long, snakemake.output)
