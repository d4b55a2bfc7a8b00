"""Throw needles from every seed."""

import pandas as pd
from triptych.needle.throws import throw

from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    given = snakemake.params.needle
    write_csv(
        pd.concat([throw(given["throws"], seed) for seed in given["seeds"]]), snakemake.output[0]
    )
