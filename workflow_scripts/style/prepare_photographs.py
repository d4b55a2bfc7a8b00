"""Cut training crops out of COCO's zip file, a folder of images, or the bundled photographs."""

from triptych.core.job import job
from triptych.demo.pictures import picture
from triptych.style.data.crops import shard_collection, shard_embedded
from triptych.style.data.shards import ShardFiles

with job(snakemake):
    output, params, settings = snakemake.output, snakemake.params, snakemake.params.photographs
    files = ShardFiles(output.crops, output.index, output.skipped)
    size, validation = settings["size"], settings["validation"]
    if params.source == "embedded":
        shard_embedded(
            files,
            size=size,
            validation=validation,
            crops=settings["crops"],
            seed=settings["seed"],
            reserved=settings["reserved"],
            generated=settings["generated"],
            picture=picture,
            folder=settings.get("path"),
        )
    else:
        path = settings["path"] if params.source == "folder" else snakemake.input.archive
        shard_collection(path, files, size, validation, snakemake.threads)
