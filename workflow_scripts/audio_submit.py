"""The four submission files of the challenge, each with its meta information."""

import pandas as pd

from triptych.audio.scoring.submission import submitted_systems
from triptych.audio.scoring.submission_files import write_submissions
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    write_submissions(
        submitted_systems(params.runs, params.members, params.corpus),
        snakemake.output.tables,
        pd.read_csv(snakemake.input.metrics, dtype=str, keep_default_na=False),
        params.evaluated,
    )
