"""List Clotho's clips, captions and queries."""

from triptych.audio.data.clotho import read_clotho
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    tables = read_clotho(params.folder, params.audio, params.splits)
    write_csv(tables.clips, output.clips)
    write_csv(tables.captions, output.captions)
    write_csv(tables.queries, output.queries)
