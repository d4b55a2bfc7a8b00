"""Figure 1 and Table 1."""

from triptych.needle.report import figure, table, table_long

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import with_cells, write_table

with job(snakemake):
    throws, scale = read_frames(snakemake.input), snakemake.params.scale
    numbers = with_cells(throws.rename(columns={"pi": "value"}), unit="1", scale=scale)
    write_figure(figure(throws), numbers, snakemake.output.figure1)
    long = table_long(throws, scale)
    write_table(long, table(long), snakemake.output.table1)
