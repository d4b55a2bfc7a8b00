"""Figure 4: memory against sparsity, with the numbers that it draws."""

from pathlib import Path

import pandas as pd

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_storage import memory_figure
from triptych.report.scores import read_frames
from triptych.report.style import save_figure
from triptych.report.tables_rl import sizes_long

with job(snakemake):
    sizes = read_frames(snakemake.input.sizes)
    published = pd.read_csv(snakemake.input.published)
    svg, _, _, numbers = snakemake.output
    long = sizes_long(sizes, published, scale=snakemake.params.scale)
    save_figure(memory_figure(long, task=snakemake.params.task), Path(svg).with_suffix(""))
    write_csv(long, numbers)
