"""results/claims.csv: a verdict on each claim of the papers, with the figures behind it."""

from triptych.core.job import job
from triptych.report.claims import write_claims
from triptych.report.manifest import of_this_run, precisions, read_records
from triptych.studies import files_of, studies

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    jobs = of_this_run(read_records(params.provenance), map(str, given))
    became = precisions(jobs)
    verdicts = [
        verdict
        for name, study in studies().items()
        for verdict in study.verdicts(
            files_of(name, given), {**params.settings[name], "became": became}
        )
    ]
    write_claims(verdicts, params.scale, snakemake.output[0])
