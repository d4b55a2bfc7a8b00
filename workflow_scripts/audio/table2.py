"""Table 2: retrieval by every system of this run, and as published; how the models were trained."""

import pandas as pd

from triptych.audio.report.figures import trainings_figure, trainings_long
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.audio.report.tables import table2_long, table2_tables
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    metrics, queries, ensembles = (
        read_rows(path) for path in (files.metrics, files.queries, files.ensembles)
    )
    published = pd.read_csv(files.published)
    study = AudioStudy.read(**params.study)
    long = table2_long(metrics, queries, ensembles, published, study, scale=params.scale)
    write_table(long, table2_tables(long), snakemake.output.table2)
    trainings = trainings_long(read_rows(files.history), study, scale=params.scale)
    write_figure(trainings_figure(trainings, study), trainings, snakemake.output.training)
