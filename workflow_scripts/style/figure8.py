"""Figure 8: a large photograph, the style and Version 2's result, with an enlarged detail."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import high_resolution_figure
from triptych.style.report.panels import Files, Shown
from triptych.style.report.runs import stylised_long

with job(snakemake):
    inputs, result = snakemake.input, Path(snakemake.input.result)
    long = stylised_long(
        read_frames(inputs.stylised_runs),
        content=result.stem,
        painting=result.parent.name,
        scale=snakemake.params.scale,
    )
    files = Files(result=[result], content=[inputs.content], painting=[inputs.painting])
    write_figure(high_resolution_figure(Shown(long, files)), long, snakemake.output)
