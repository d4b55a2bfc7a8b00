"""Figure 7: one photograph in several styles, by Version 1."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.present.palette import write_figure
from triptych.style.report.figures_images import paintings_figure
from triptych.style.report.figures_panels import files_by_stem
from triptych.style.report.tables_results import results_long

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
