"""Figure 7: one photograph in several styles, by Version 1."""

from triptych.core.job import job
from triptych.report.figures_style_images import paintings_figure
from triptych.report.figures_style_panels import files_by_stem
from triptych.report.scores import read_frames
from triptych.report.style import write_figure
from triptych.report.tables_style_results import results_long

with job(snakemake):
    given = snakemake.input
    long = results_long(
        read_frames(given.runs),
        experiment="paintings",
        scale=snakemake.params.scale,
    )
    figure = paintings_figure(
        long,
        images=files_by_stem(given.images),
        contents=files_by_stem(given.contents),
        paintings=files_by_stem(given.paintings),
    )
    write_figure(figure, long, snakemake.output, photographs=True)
