"""results/claims/audio.csv: a verdict on each claim about audio retrieval."""

from pathlib import Path

from triptych.audio.report.claims import CLAIMS
from triptych.audio.report.claims_needs import tables_of
from triptych.audio.report.rows import read_rows
from triptych.audio.workflow import Workflow
from triptych.core.config import read_yaml
from triptych.core.job import job
from triptych.report.claims import judge, write_claims
from triptych.report.files import named_files
from triptych.report.manifest import precisions

with job(snakemake):
    files, params = named_files(snakemake.input), snakemake.params
    plan = Workflow(params.config, read_yaml(Path(files["sources"][0])))
    frames = {name: read_rows(files[name]) for name in plan.claims}
    tables = tables_of(frames, plan, precisions(params.provenance, map(str, snakemake.input)))
    write_claims(judge(CLAIMS, plan, tables), params.scale, snakemake.output[0])
