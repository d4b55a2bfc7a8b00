"""Seconds until Version 1's loss falls to given parts of its first value."""

import pandas as pd

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.measures.targets import target_times

with job(snakemake):
    table = target_times(
        map(pd.read_csv, snakemake.input.history),
        map(pd.read_csv, snakemake.input.runs),
        snakemake.params.parts,
    )
    write_csv(table, snakemake.output[0])
