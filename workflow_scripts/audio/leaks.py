"""Results with and without leaks, and what each corpus leaves out."""

from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.audio.report.tables_leaks import leaks_long, leaks_tables, read_corpora
from triptych.audio.scoring.scores import score_runs
from triptych.core.job import job
from triptych.report.tables import write_table

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    clips = read_rows(files.clips)
    scores = score_runs(params.runs, members=[], clips=clips)
    long = leaks_long(
        scores.metrics,
        scores.queries,
        read_corpora(files.removed),
        read_corpora(files.counts),
        clips,
        AudioStudy.read(**params.study),
        exclusions=params.exclusions,
        scale=params.scale,
    )
    write_table(long, leaks_tables(long), snakemake.output)
