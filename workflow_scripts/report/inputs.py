"""Ask for each file that a target downloads, before it is: results/inputs/<target>.csv."""

import csv
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from triptych.core.download import BusyError, ask
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
        answers = [*pool.map(partial(ask, user_agent=agent), entries.values())]
    problems = []
    for name, answer in zip(entries, answers, strict=True):
        texts = [str(answer), entries[name].get("without")] if answer else []
        problems.append(" ".join(filter(None, texts)))
        if isinstance(answer, BusyError):
            print(f"{name}: the server is busy; it may have the file: {answer}")
        elif answer:
            print(f"{name} cannot be had: {problems[-1]}", file=sys.stderr)
    with atomic_path(snakemake.output[0]) as temporary, temporary.open("w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["file", "url", "bytes", "busy", "problem"])
        for (name, entry), answer, problem in zip(entries.items(), answers, problems, strict=True):
            busy = isinstance(answer, BusyError)
            table.writerow([name, entry["url"], entry.get("size"), busy, problem])
    print(f"{problems.count('')} of {len(entries)} files can be had")
