"""Beyond the paper: what a start keeps.

Version 1 started from the content image, from white noise and from the style image, with the
structural similarity of luminance to the content (1 is all of its structure).
"""

import numpy as np
from matplotlib.figure import Figure

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.labels import INITIALISATION_LABELS
from triptych.style.report.panels import Experiment, picture_figure, saying_missing
from triptych.style.report.runs import Row, in_order


@saying_missing
def figure(shown: Experiment) -> Figure:
    """The result from each initialisation, with the structure of the content that it kept."""

    def note(run: Row) -> str:
        ssim = run["ssim_luma"]
        return "" if np.isnan(ssim) else f"structure kept (SSIM) {ssim:.2f}"

    panels = shown.row(
        in_order(shown.runs, "initialisation", INITIALISATION_LABELS),
        title=lambda run: f"From {INITIALISATION_LABELS[run['initialisation']]}",
        note=note,
    )
    return picture_figure([panels])


if __name__ == "__main__":
    with job(snakemake):
        shown = Experiment.read(snakemake.input, snakemake.params.scale)
        write_figure(figure(shown), shown.long, snakemake.output)
