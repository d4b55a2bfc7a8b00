"""results/manifest.json: what this run made, and from what."""

from triptych.core.job import job
from triptych.core.provenance import SOURCE
from triptych.report.manifest import read_records, write_manifest

with job(snakemake):
    params = snakemake.params
    write_manifest(
        snakemake.output[0],
        read_records(params.provenance),
        map(str, snakemake.input),
        params.config,
        params.scale,
        SOURCE,
    )
