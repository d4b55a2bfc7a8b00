"""Figure 3: results by backbone."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_style_images import backbone_images_figure
from triptych.report.figures_style_panels import files_by_stem
from triptych.report.scores import read_frames
from triptych.report.style import save_figure
from triptych.report.tables_style_results import results_long

with job(snakemake):
    given = snakemake.input
    long = results_long(
        read_frames(given.runs),
        experiment="backbones",
        scale=snakemake.params.scale,
    )
    figure = backbone_images_figure(
        long,
        images=files_by_stem(given.images),
        contents=files_by_stem(given.contents),
        paintings=files_by_stem(given.paintings),
    )
    svg, _, _, numbers = snakemake.output
    save_figure(figure, Path(svg).with_suffix(""), photographs=True)
    write_csv(long, numbers)
