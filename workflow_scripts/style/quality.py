"""Measure images of either version against their photographs and paintings."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.data.backbone import load_backbone
from triptych.style.measures.quality import optimised_images, quality_table, stylised_images

with job(snakemake):
    params, inputs = snakemake.params, snakemake.input
    images_of = optimised_images if params.version == "optimize" else stylised_images
    table = quality_table(
        images_of(inputs.runs),
        contents={Path(path).stem: Path(path) for path in inputs.contents},
        paintings={Path(path).stem: Path(path) for path in inputs.paintings},
        backbone=load_backbone(inputs.validation, pooling="average"),
        layers=params.layers,
        projections=params.projections,
        seed=params.seed,
    )
    write_csv(table, snakemake.output[0])
