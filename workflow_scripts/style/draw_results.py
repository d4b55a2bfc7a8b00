"""Figure 1 (both versions), the result from each initialisation, and the quality of all results."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table
from triptych.style.report.figures_images import (
    initialisations_figure,
    styles_figure,
    versions_figure,
)
from triptych.style.report.panels import Files
from triptych.style.report.runs import results_long, styles_long, versions_long
from triptych.style.report.tables_beyond import quality_long, quality_table

with job(snakemake):
    given, output, params = snakemake.input, snakemake.output, snakemake.params
    quality, stylised = read_frames(given.quality), read_frames(given.stylised_runs)
    pair = {"content": params.contents[0], "painting": params.painting, "scale": params.scale}
    sources = {"content": given.contents, "painting": given.paintings}

    styles = styles_long(stylised, params.contents, scale=params.scale)
    files = Files(result=given.stylised, **sources)
    write_figure(styles_figure(styles, files), styles, output.styles, photographs=True)

    versions = versions_long(read_frames(given.paintings_runs), stylised, quality, **pair)
    files = Files(result=[given.paintings_images, *given.stylised], **sources)
    write_figure(versions_figure(versions, files), versions, output.figure1, photographs=True)

    runs = read_frames(given.initialisations_runs)
    starts = results_long(runs, quality, experiment="initialisations", scale=params.scale)
    files = Files(result=[given.initialisations_images], **sources)
    figure = initialisations_figure(starts, files)
    write_figure(figure, starts, output.initialisations, photographs=True)

    scores = quality_long(quality, stylised, scale=params.scale)
    write_table(scores, quality_table(scores), output.scores)
