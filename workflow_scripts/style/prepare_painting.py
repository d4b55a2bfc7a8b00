"""Check one style image and write it as PNG; a missing one stays missing.

A downloaded one that cannot be used is missing, too; a user's own is an error.
"""

from pathlib import Path

from triptych.core.errors import InputError
from triptych.core.job import job
from triptych.style.data.missing import missing_reason, write_missing
from triptych.style.data.prepare import prepare_painting

with job(snakemake):
    source, path, params = snakemake.input[0], snakemake.output[0], snakemake.params
    reason = missing_reason(source)
    if not reason:
        try:
            prepare_painting(source, path, params.longest)
        except InputError as problem:
            if params.own:
                raise
            reason = str(problem)
            print(f"{Path(path).stem} is missing, and the run goes on without it: {reason}")
    if reason:
        write_missing(path, Path(path).stem, reason)
