"""Stylised videos: strips of frames, flicker, and speed by batch."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_network import video_figure, video_long

with job(snakemake):
    inputs = snakemake.input
    flicker, speed = read_frames(inputs.flicker), read_frames(inputs.speed)
    long = video_long(flicker, speed, scale=snakemake.params.scale)
    write_figure(video_figure(long, inputs.strips), long, snakemake.output, photographs=True)
