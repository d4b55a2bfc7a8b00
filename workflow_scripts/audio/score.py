"""Score every model, ensemble and baseline of the audio study on validation and evaluation."""

from triptych.audio.data.tables import read_table
from triptych.audio.scoring.scores import read_histories, score_runs
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    scores = score_runs(
        params.runs,
        params.members,
        clips=read_table(files.clips),
        scenes=read_table(params.scenes) if params.scenes else None,
    )
    write_csv(scores.metrics, output.metrics)
    write_csv(scores.queries, output.queries)
    write_csv(scores.ensembles, output.ensembles)
    write_csv(scores.subsets, output.subsets)
    write_csv(read_histories(params.runs), output.history)
