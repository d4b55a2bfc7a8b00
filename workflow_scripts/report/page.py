"""results/report.html: the page that shows everything a run made."""

from pathlib import Path

from triptych.core.job import job
from triptych.page import PARTIAL, write_page
from triptych.report.files import named_files

with job(snakemake):
    page, params = Path(snakemake.output[0]), snakemake.params
    files = named_files(snakemake.input)
    write_page(page, files, params.studies, params.scale, params.provenance)
    page.with_name(PARTIAL).unlink(missing_ok=True)
