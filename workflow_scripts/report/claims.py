"""results/claims.csv: the verdicts on the claims of all papers."""

from pathlib import Path

from triptych.core.files import atomic_path
from triptych.core.job import job

with job(snakemake):
    tables = [Path(path).read_text(encoding="utf-8") for path in snakemake.input]
    header = tables[0].partition("\n")[0]
    rows = [table.removeprefix(f"{header}\n") for table in tables]
    with atomic_path(snakemake.output[0]) as temporary:
        temporary.write_text("".join([f"{header}\n", *rows]), encoding="utf-8", newline="\n")
