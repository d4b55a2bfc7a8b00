"""Cut training crops out of COCO's zip file, a folder of images, or the bundled photographs."""

from pathlib import Path

from triptych.core.job import job
from triptych.demo.pictures import picture
from triptych.style.data.crops import shard_collection, shard_embedded

with job(snakemake):
    output, params, settings = snakemake.output, snakemake.params, snakemake.params.photographs
    folder = Path(output.crops).parent
    size, validation = settings["size"], settings["validation"]
    if params.source == "embedded":
        shard_embedded(
            folder,
            size=size,
            validation=validation,
            crops=settings["crops"],
            seed=settings["seed"],
            reserved=settings["reserved"],
            generated=settings["generated"],
            picture=picture,
            own=settings.get("path"),
        )
    else:
        path = settings["path"] if params.source == "folder" else snakemake.input.archive
        shard_collection(path, folder, size, validation, snakemake.threads)
