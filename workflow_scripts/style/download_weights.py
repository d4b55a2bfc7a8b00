"""Fetch torchvision's weights of one network and keep the convolutional part."""

from triptych.core.job import job
from triptych.style.data.weights import download_weights

with job(snakemake):
    download_weights(
        snakemake.params.url,
        snakemake.output[0],
        snakemake.params.architecture,
        snakemake.params.sha256_start,
        size=snakemake.params.size,
        lock=snakemake.params.lock,
    )
