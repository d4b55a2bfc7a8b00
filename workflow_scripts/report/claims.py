"""results/claims.csv: a verdict on each claim of the papers, with the figures behind it."""

from triptych.core.job import job
from triptych.report.claims import write_claims
from triptych.studies import files_of, studies

with job(snakemake):
    params = snakemake.params
    verdicts = [
        verdict
        for name, study in studies().items()
        for verdict in study.verdicts(files_of(name, snakemake.input), params.settings[name])
    ]
    write_claims(verdicts, params.scale, snakemake.output[0])
