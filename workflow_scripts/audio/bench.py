"""Measure the audio study's parts against plain eager code, and print the ratios."""

from triptych.audio.measures.bench import bench
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    table = bench(snakemake.params.bench, snakemake.params.device, snakemake.threads)
    print(table.to_string(index=False))
    write_csv(table, snakemake.output[0])
