"""The four submission files of the challenge."""

from triptych.audio.data.tables import read_table
from triptych.audio.scoring.submission import submitted_systems, write_submissions
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    write_submissions(
        submitted_systems(params.runs, params.members, params.corpus),
        snakemake.output,
        read_table(snakemake.input.clips),
    )
