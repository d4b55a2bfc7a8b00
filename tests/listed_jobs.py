"""python listed_jobs.py ARGUMENT...: the jobs that `snakemake --dry-run ARGUMENT...` would start, a
line of JSON for each."""

import json
import logging
import sys

from snakemake.cli import main
from snakemake_interface_logger_plugins.common import LogEvent


class Listing(logging.Handler):
    """Prints a job's rule, wildcards, files and reason."""

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "event", None) == LogEvent.JOB_INFO:
            about = {
                name: getattr(record, name) for name in ("rule_name", "input", "output", "reason")
            }
            print(json.dumps({**about, "wildcards": dict(record.wildcards)}), flush=True)


if __name__ == "__main__":
    logging.getLogger("snakemake").addHandler(Listing())  # its own are replaced
    main(["--dry-run", *sys.argv[1:]])
