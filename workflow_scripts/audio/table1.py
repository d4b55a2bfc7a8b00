"""Table 1: one query for new captions, and its answer."""

import json
from pathlib import Path

from triptych.audio.report.tables_others import table1_long, table1_table
from triptych.core.job import job
from triptych.report.tables import write_table

with job(snakemake):
    example = json.loads(Path(snakemake.input.example).read_text(encoding="utf-8"))
    long = table1_long(example, scale=snakemake.params.scale)
    write_table(long, table1_table(long), snakemake.output)
