"""Cut training crops out of a folder of images (source folder) or the bundled photographs."""

from triptych.core.job import job
from triptych.demo.pictures import picture
from triptych.style.data.crops import shard_embedded, shard_folder
from triptych.style.data.shards import ShardFiles

with job(snakemake):
    output, params = snakemake.output, snakemake.params
    files = ShardFiles(output.crops, output.index, output.skipped)
    if params.source == "folder":
        shard_folder(params.path, files, params.size, params.validation, snakemake.threads)
    else:
        shard_embedded(
            files,
            size=params.size,
            validation=params.validation,
            crops=params.crops,
            seed=params.seed,
            reserved=params.reserved,
            generated=params.generated,
            picture=picture,
        )
