"""results/claims/needle.csv: a verdict on each claim."""

from triptych.needle.claims import CLAIMS
from triptych.needle.workflow import Workflow

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.claims import judge, write_claims

with job(snakemake):
    params = snakemake.params
    verdicts = judge(CLAIMS, Workflow(params.config, {}), read_frames(snakemake.input.throws))
    write_claims(verdicts, params.scale, snakemake.output[0])
