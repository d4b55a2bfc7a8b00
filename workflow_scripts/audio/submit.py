"""The four submission files of the challenge, each with its meta information."""

from triptych.audio.data.tables import read_table
from triptych.audio.scoring.submission import submitted_systems
from triptych.audio.scoring.submission_files import write_submissions
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    write_submissions(
        submitted_systems(params.runs, params.members, params.corpus),
        snakemake.output.tables,
        read_table(snakemake.input.clips),
        read_table(snakemake.input.metrics),
        params.evaluated,
    )
