"""Score every model, ensemble and baseline of the audio study on validation and evaluation."""

from functools import partial

import pandas as pd

from triptych.audio.scoring.scores import read_histories, score_runs
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    given, params, output = snakemake.input, snakemake.params, snakemake.output
    read = partial(pd.read_csv, dtype=str, keep_default_na=False)
    scores = score_runs(
        params.runs,
        params.members,
        clips=read(given.clips),
        relevance=read(given.relevance),
        scenes=read(params.scenes) if params.scenes else None,
        seed=params.seed,
    )
    write_csv(scores.metrics, output.metrics)
    write_csv(scores.queries, output.queries)
    write_csv(scores.ensembles, output.ensembles)
    write_csv(read_histories(params.runs), output.history)
