"""results/claims/style.csv: a verdict on each claim about style transfer."""

from pathlib import Path

from triptych.core.config import read_yaml
from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.claims import judge, write_claims
from triptych.report.files import named_files
from triptych.report.manifest import precisions
from triptych.style.report.claims import CLAIMS
from triptych.style.report.claims_needs import tables_of
from triptych.style.workflow import Workflow

with job(snakemake):
    files, params = named_files(snakemake.input), snakemake.params
    plan = Workflow(params.config, read_yaml(Path(files["sources"][0])))
    frames = {name: read_frames(files[name]) for name in plan.claims}
    tables = tables_of(frames, plan, precisions(params.provenance, map(str, snakemake.input)))
    write_claims(judge(CLAIMS, plan, tables), params.scale, snakemake.output[0])
