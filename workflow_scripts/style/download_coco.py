"""Fetch COCO's images of resources/sources.yaml, checked by size, MD5 and SHA-256."""

from triptych.core.download import download
from triptych.core.job import job, settings

with job(snakemake):
    download(path=snakemake.output[0], **settings(snakemake))
