"""Fetch torchvision's weights of one network and keep the convolutional part."""

from triptych.core.job import job, settings
from triptych.style.data.weights import download_weights

with job(snakemake):
    download_weights(path=snakemake.output[0], **settings(snakemake))
