"""Table 2, and results beyond the paper."""

import pandas as pd

from triptych.audio.report.figures import beyond_figure
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.audio.report.tables import table2_long, table2_tables
from triptych.audio.report.tables_others import beyond_long
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    study, scale = AudioStudy.read(**params.study), params.scale
    metrics, queries = read_rows(files.metrics), read_rows(files.queries)
    published = pd.read_csv(files.published)
    table2 = table2_long(
        metrics, queries, read_rows(files.ensembles), published, study, scale=scale
    )
    write_table(table2, table2_tables(table2), output.table2)
    beyond = beyond_long(metrics, study, scale=scale)
    write_figure(beyond_figure(beyond), beyond, output.beyond)
