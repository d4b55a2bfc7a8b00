"""results/inputs/<study>.csv: whether each file that a run downloads can be had, before it is."""

import csv
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from triptych.core.download import missing
from triptych.core.files import atomic_path
from triptych.core.job import job

with job(snakemake):
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    entries = {
        name: {**entry, "url": entry["url"].replace("https://huggingface.co", hub)}
        for name, entry in snakemake.params.downloads.items()
    }
    agent = f"Triptych ({snakemake.params.contact})" if snakemake.params.contact else None
    with ThreadPoolExecutor(8) as pool:
        problems = [*pool.map(partial(missing, user_agent=agent), entries.values())]
    with atomic_path(snakemake.output[0]) as temporary, temporary.open("w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["file", "url", "bytes", "problem"])
        for (name, entry), problem in zip(entries.items(), problems, strict=True):
            table.writerow([name, entry["url"], entry.get("size"), problem])
    for name, problem in zip(entries, problems, strict=True):
        if problem:
            print(f"{name} cannot be had: {problem}", file=sys.stderr)
    print(f"{len(entries) - sum(map(bool, problems))} of {len(entries)} files can be had")
