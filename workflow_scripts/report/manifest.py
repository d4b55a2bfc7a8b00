"""results/manifest.json: what this run made, and from what; for machines also as an RO-Crate."""

from pathlib import Path

from triptych.core.job import job
from triptych.core.provenance import SOURCE
from triptych.report.crate import write_crate
from triptych.report.manifest import read_records, write_manifest

with job(snakemake):
    params, files, output = snakemake.params, snakemake.input, snakemake.output
    manifest = write_manifest(
        output.manifest,
        read_records(params.provenance),
        [*map(str, files)],
        params.config,
        params.scale,
        SOURCE,
    )
    licences = Path(files.colophon).read_text(encoding="utf-8").strip()
    write_crate(output.crate, manifest, Path(files.workflow), licences)
