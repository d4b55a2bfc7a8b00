"""python -P listed_jobs.py FILE ARGUMENT...: list the jobs of `snakemake ARGUMENT...`.

FILE gets JSON: `jobs`, as Snakemake's logger tells them, and `runs`, a complete config with its
source and scale for each time that the Snakefile uses Triptych. Nothing of the library is imported
here: the workflow may lie in another checkout.
"""

import json
import logging
import sys
from pathlib import Path
from typing import Any

from snakemake.cli import main
from snakemake_interface_logger_plugins.common import LogEvent

INFRASTRUCTURE = True

FILES = ("input", "output", "log")
PLAIN = ("rule_name", "benchmark", "threads", "reason")


class Listing(logging.Handler):
    """Keeps the jobs, and of a target that runs nothing one without outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Note a job, whatever Snakemake's own handlers leave out."""
        about = record.__dict__
        if about.get("event") == LogEvent.JOB_INFO:
            job = {name: [*about[name]] for name in FILES} | {name: about[name] for name in PLAIN}
            resources = dict(about["resources"].items())
            job["resources"] = {k: v for k, v in resources.items() if isinstance(v, int | str)}
            self.jobs.append(job | {"wildcards": dict(about["wildcards"])})


if __name__ == "__main__":
    listing = Listing()
    # Snakemake's logger is a child of this one, whose handlers it leaves alone.
    logging.getLogger("snakemake").addHandler(listing)
    try:
        # Some values of `quiet` in a user's profile end a dry run before the first job.
        main(["--quiet", "reason", "--dry-run", *sys.argv[2:]])
    finally:
        planning = sys.modules.get("triptych.planning")
        runs = getattr(planning, "RUNS", [])
        Path(sys.argv[1]).write_text(json.dumps({"jobs": listing.jobs, "runs": runs}))
