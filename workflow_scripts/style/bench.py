"""Measure network, training and optimisation against plain eager code, and print the ratios."""

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.measures.bench import bench

with job(snakemake):
    settings = snakemake.params.bench
    table = bench(
        settings["sizes"],
        settings["width"],
        settings["precisions"],
        settings["rounds"],
        snakemake.threads,
    )
    print(table.to_string(index=False))
    write_csv(table, snakemake.output[0])
