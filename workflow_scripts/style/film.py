"""Make the source video: the generated film, or a copy of the user's video."""

import shutil

from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.demo.film import Film, write_film
from triptych.style.video.info import probe

with job(snakemake):
    video = snakemake.input.get("video")
    if video:
        probe(video)  # raises InputError
        with atomic_path(snakemake.output[0]) as temporary:
            shutil.copyfile(video, temporary)
    else:
        write_film(snakemake.output[0], Film(**snakemake.params.film))
