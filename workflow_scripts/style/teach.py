"""Paint some of the training crops by Version 1, resuming where an attempt stopped."""

from pathlib import Path

from PIL import Image

from triptych.core.device import choose_device, choose_precision
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.style.data.backbone import load_backbone
from triptych.style.data.crops import as_jpeg
from triptych.style.data.images import read_image
from triptych.style.data.shards import Crop, ShardFiles, Shards, write_shards
from triptych.style.network.version1_targets import TargetSettings, chosen_crops, paint_targets

with job(snakemake):
    keep_freed_memory()
    params, files, output = snakemake.params, snakemake.input, snakemake.output
    device = choose_device(params.device)
    precision = choose_precision(params.version1_targets["precision"], device, "unscaled")
    settings = TargetSettings(**{**params.version1_targets, "precision": precision})
    crops = Shards(files.crops, files.index)
    numbers = chosen_crops(crops, params.painting, settings)
    pictures = paint_targets(
        crops.batch(numbers),
        read_image(files.painting),
        params.painting_size,
        load_backbone(files.backbone, pooling="average"),
        settings,
        device,
        Path(params.checkpoint),
        fingerprint({**dict(params.items()), "settings": settings}, files),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )
    write_shards(
        (
            Crop(str(number), as_jpeg(Image.fromarray(picture.permute(1, 2, 0).numpy())))
            for number, picture in zip(numbers, pictures, strict=True)
        ),
        len(numbers),
        ShardFiles(output.pictures, output.index),
        min(settings.validation, len(crops.validation)),
        "the pictures",
    )
