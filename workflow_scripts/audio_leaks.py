"""Results with and without leaks, and the ledger of what was removed from training."""

from pathlib import Path

from triptych.core.job import job
from triptych.report.audio_study import AudioStudy, read_rows
from triptych.report.tables import write_table
from triptych.report.tables_audio_leaks import leaks_long, leaks_tables, read_corpora

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    long = leaks_long(
        read_rows(given.metrics),
        read_rows(given.queries),
        read_corpora(given.removed),
        read_corpora(given.counts),
        read_rows(given.clips),
        AudioStudy.read(**params.study),
        exclusions=params.exclusions,
        scale=params.scale,
    )
    write_table(long, leaks_tables(long), Path(snakemake.output[0]).with_suffix(""))
