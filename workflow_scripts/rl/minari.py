"""Write a Minari data set, downloaded if it isn't there, in D4RL's layout."""

from triptych.core.job import job
from triptych.rl.tasks.minari import write_minari

with job(snakemake):
    write_minari(snakemake.params.dataset, snakemake.output[0])
