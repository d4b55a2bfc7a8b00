"""Stylised videos: strips of frames, flicker, and speed by batch."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_network import network_title, video_figure, video_long
from triptych.style.report.tables_beyond import read_variants

with job(snakemake):
    given = snakemake.input
    long = video_long(
        read_frames(given.flicker), read_variants(given.speed), scale=snakemake.params.scale
    )
    strips = [(Path(path), network_title(path)) for path in given.strips]
    write_figure(video_figure(long, strips), long, snakemake.output, photographs=True)
