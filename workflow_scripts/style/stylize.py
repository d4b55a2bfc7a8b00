"""Stylise the photographs of one painting with its network, shipped or trained."""

from pathlib import Path

from triptych.core.device import choose_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.style.network.stylize import stylise_files

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    keep_freed_memory()
    runs = stylise_files(
        snakemake.input.network,
        snakemake.input.contents,
        Path(output.runs).parent,
        painting=params.painting,
        variant=params.variant,
        precision=params.precision,
        device=choose_device(params.device),
    )
    write_csv(runs, output.runs)
