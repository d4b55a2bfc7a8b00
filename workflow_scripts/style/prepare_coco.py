"""Cut a training crop out of every usable image in COCO's zip file, without unpacking it."""

from triptych.core.job import job
from triptych.style.data.crops import shard_archive
from triptych.style.data.shards import ShardFiles

with job(snakemake):
    output, params = snakemake.output, snakemake.params
    shard_archive(
        snakemake.input.archive,
        ShardFiles(output.crops, output.index, output.skipped),
        size=params.size,
        validation=params.validation,
        threads=snakemake.threads,
    )
