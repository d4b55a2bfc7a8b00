"""results/claims/<study>.csv: a verdict on each claim of one paper, with the figures behind it."""

from importlib import import_module

from triptych.core.job import job
from triptych.report.claims import write_claims
from triptych.report.files import named_files
from triptych.report.manifest import of_this_run, precisions, read_records

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    study = import_module(params.study)
    jobs = of_this_run(read_records(params.provenance), map(str, files))
    settings = {**params.settings, "became": precisions(jobs)}
    write_claims(study.verdicts(named_files(files), settings), params.scale, snakemake.output[0])
