"""Score published checkpoints on Clotho's evaluation split, beside the numbers that they claim."""

import pandas as pd

from triptych.audio.data.tables import read_table
from triptych.audio.report.tables_others import published_long, published_table
from triptych.audio.scoring.published import score_models
from triptych.core.job import job
from triptych.report.tables import write_table

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    metrics = score_models(
        dict(zip(params.names, files.models, strict=True)),
        clips=read_table(files.clips),
        captions=read_table(files.captions),
        shards=files.shards,
        longest_seconds=params.longest_seconds,
        device=params.device,
    )
    long = published_long(metrics, pd.read_csv(files.published), scale=params.scale)
    write_table(long, published_table(long), snakemake.output)
