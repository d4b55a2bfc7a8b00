"""Figure 1 (both versions), the result from each initialisation, and the quality of all results."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table
from triptych.style.report.figures_images import (
    initialisations_figure,
    styles_figure,
    versions_figure,
)
from triptych.style.report.panels import chosen_file, files_by_stem, stylised_by_pair
from triptych.style.report.runs import results_long, styles_long, versions_long
from triptych.style.report.tables_beyond import quality_long, quality_table

with job(snakemake):
    given, output, params = snakemake.input, snakemake.output, snakemake.params
    content, painting, scale = params.contents[0], params.painting, params.scale
    quality, stylised_runs = read_frames(given.quality), read_frames(given.stylised_runs)
    contents, paintings = files_by_stem(given.contents), files_by_stem(given.paintings)

    stylised = stylised_by_pair(given.stylised)

    styles = styles_long(stylised_runs, params.contents, scale=scale)
    figure = styles_figure(styles, stylised=stylised, paintings=paintings)
    write_figure(figure, styles, output.styles, photographs=True)

    versions = versions_long(
        read_frames(given.paintings_runs),
        stylised_runs,
        quality,
        content=content,
        painting=painting,
        scale=scale,
    )
    images = files_by_stem(given.paintings_images)
    figure = versions_figure(
        versions,
        version_1=chosen_file(images, str(versions["run"].iloc[0]), "result"),
        version_2=stylised[painting, content],
        content=chosen_file(contents, content, "content"),
        painting=chosen_file(paintings, painting, "painting"),
    )
    write_figure(figure, versions, output.figure1, photographs=True)

    starts = results_long(
        read_frames(given.initialisations_runs),
        quality,
        experiment="initialisations",
        scale=scale,
    )
    images = files_by_stem(given.initialisations_images)
    figure = initialisations_figure(starts, images=images, contents=contents, paintings=paintings)
    write_figure(figure, starts, output.initialisations, photographs=True)

    scores = quality_long(quality, stylised_runs, scale=scale)
    write_table(scores, quality_table(scores), Path(output.scores[0]).with_suffix(""))
