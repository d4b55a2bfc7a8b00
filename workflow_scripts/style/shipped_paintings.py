"""Copy the paintings that the repository ships into results/."""

import shutil

from triptych.core.files import atomic_path
from triptych.core.job import job

with job(snakemake):
    for source, path in zip(snakemake.input, snakemake.output, strict=True):
        with atomic_path(path) as temporary:
            shutil.copyfile(source, temporary)
