"""Table 1: megabytes of the stored networks, beside the published ones."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import write_table
from triptych.rl.report.memory import table1_long, table1_table
from triptych.rl.report.scores import with_observations

with job(snakemake):
    params = snakemake.params
    sizes = with_observations(read_frames(snakemake.input.sizes), params.observations)
    published = pd.read_csv(snakemake.input.published)
    long = table1_long(
        sizes, published, task=params.task, sparsity=params.sparsity, scale=params.scale
    )
    write_table(long, table1_table(long), snakemake.output)
