"""Record a noisy expert's episodes in MuJoCo as an HDF5 file in D4RL's layout."""

from triptych.core.job import job
from triptych.rl.collection import collect

with job(snakemake):
    collect(
        snakemake.params.task,
        snakemake.input.expert,
        snakemake.output[0],
        transitions=snakemake.params.transitions,
        sigma=snakemake.params.noise,
        seed=snakemake.params.seed,
    )
