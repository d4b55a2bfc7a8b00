"""Measure updates per second, stacked and one network at a time, and print the ratios."""

from triptych.core.device import choose_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.rl.bench import bench

with job(snakemake):
    params = snakemake.params
    table = bench(
        params.bench["task"],
        params.bench["stacks"],
        params.bench["precisions"],
        params.bench["seconds"],
        params.bench["rounds"],
        choose_device(params.device),
    )
    print(table.to_string(index=False))
    write_csv(table, snakemake.output[0])
