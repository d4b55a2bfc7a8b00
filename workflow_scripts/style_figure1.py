"""Figure 1: both versions of the same content and style, side by side."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_style_images import versions_figure
from triptych.report.figures_style_panels import chosen_file, files_by_stem, stylised_by_pair
from triptych.report.scores import read_frames
from triptych.report.style import save_figure
from triptych.report.tables_style_results import versions_long

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    long = versions_long(
        read_frames(given.runs),
        read_frames(given.stylised_runs),
        read_frames(given.quality),
        content=params.content,
        painting=params.painting,
        scale=params.scale,
    )
    figure = versions_figure(
        long,
        version_1=chosen_file(files_by_stem(given.images), str(long["run"].iloc[0]), "result"),
        version_2=stylised_by_pair(given.stylised)[params.painting, params.content],
        content=chosen_file(files_by_stem(given.contents), params.content, "content"),
        painting=chosen_file(files_by_stem(given.paintings), params.painting, "painting"),
    )
    svg, _, _, numbers = snakemake.output
    save_figure(figure, Path(svg).with_suffix(""), photographs=True)
    write_csv(long, numbers)
