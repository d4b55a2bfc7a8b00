"""Table 2: retrieval by every system of this run, and as published."""

from pathlib import Path

import pandas as pd

from triptych.core.job import job
from triptych.report.audio_study import AudioStudy, read_rows
from triptych.report.tables import write_table
from triptych.report.tables_audio import table2_long, table2_tables

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    long = table2_long(
        read_rows(given.metrics),
        read_rows(given.ensembles),
        pd.read_csv(given.published),
        AudioStudy.read(**params.study),
        scale=params.scale,
    )
    write_table(long, table2_tables(long), Path(snakemake.output[0]).with_suffix(""))
