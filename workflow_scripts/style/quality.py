"""Measure every stylised image against its content and its painting."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.data.backbone import load_backbone
from triptych.style.measures.quality import QualitySettings, quality_table

with job(snakemake):
    params, inputs = snakemake.params, snakemake.input
    table = quality_table(
        inputs.optimised,
        inputs.stylised,
        {Path(path).stem: Path(path) for path in inputs.contents},
        {Path(path).stem: Path(path) for path in inputs.paintings},
        load_backbone(inputs.validation, pooling="average"),
        QualitySettings(tuple(params.layers), params.projections, params.seed),
    )
    write_csv(table, snakemake.output[0])
