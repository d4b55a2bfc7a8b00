"""results/claims/<study>.csv: a verdict on each claim of one paper, with the figures behind it."""

from importlib import import_module
from pathlib import Path

from triptych.core.config import read_yaml
from triptych.core.job import job
from triptych.report.claims import judge, write_claims
from triptych.report.files import named_files
from triptych.report.manifest import of_this_run, precisions, read_records

with job(snakemake):
    files, params = named_files(snakemake.input), snakemake.params
    package = f"triptych.{snakemake.wildcards.study}"
    study = import_module(f"{package}.study")
    workflow = import_module(f"{package}.workflow")
    plan = workflow.Workflow(params.config, read_yaml(Path(files["sources"][0])))
    jobs = of_this_run(read_records(params.provenance), map(str, snakemake.input))
    frames = study.read_tables({name: files[name] for name in plan.claims})
    tables = study.tables_of(frames, plan, precisions(jobs))
    write_claims(judge(study.CLAIMS, plan, tables), params.scale, snakemake.output[0])
