"""Make the source video: the generated film, or a copy of one's own."""

from triptych.core.job import job
from triptych.style.video.film import Film, copy_video, write_film

with job(snakemake):
    own = snakemake.input.get("video")
    if own:
        copy_video(own, snakemake.output[0])
    else:
        write_film(snakemake.output[0], Film(**snakemake.params.film))
