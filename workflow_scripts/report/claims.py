"""results/claims.csv: the verdicts on the claims of all papers."""

import pandas as pd

from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    tables = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in snakemake.input]
    write_csv(pd.concat(tables), snakemake.output[0])
