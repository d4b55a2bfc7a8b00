"""Figure 1: both versions of one photograph and painting side by side."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import versions_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import versions_long

with job(snakemake):
    given = snakemake.input
    versions = versions_long(
        read_frames(given.runs),
        read_frames(given.stylised_runs),
        read_frames(given.quality),
        content=Path(given.content).stem,
        painting=Path(given.painting).stem,
        scale=snakemake.params.scale,
    )
    files = Files(
        result=[given.images, given.stylised], content=[given.content], painting=[given.painting]
    )
    figure = versions_figure(versions, files)
    write_figure(figure, versions, snakemake.output, photographs=True)
