"""Snakemake's `--logger triptych`: a line every quarter of a minute instead of a block a job.

What is done, what is made now, what comes next and how long it all still takes. Errors and warnings
are Snakemake's own; what jobs print goes to their logs alone. Snakemake finds plugins as packages
on PYTHONPATH, where make demo and triptych demo put the folder that this one lies in.
"""

import os
import sys
import time
from collections import Counter
from logging import WARNING, LogRecord
from threading import Event, Thread

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from triptych.apps.plan import COSTS, Cost, read_costs
from triptych.core.job import QUIET
from triptych.core.provenance import SOURCE

EVERY = 15.0
"""Seconds between lines."""


class LogHandler(LogHandlerBase):
    """Writes the lines from a thread of its own, since a job may take minutes."""

    writes_to_stream, writes_to_file = True, False
    has_filter, has_formatter, needs_rulegraph = True, False, False

    def __post_init__(self) -> None:
        os.environ[QUIET] = "1"
        self._costs = read_costs(SOURCE / COSTS, "demo")
        self._left = Counter[str]()  # jobs by rule, in the order of the graph
        self._now: dict[int, str] = {}
        self._total, self._cores, self._work, self._began = 0, 1, 0.0, time.monotonic()
        self._ended = Event()
        Thread(target=self._tell, daemon=True).start()

    def emit(self, record: LogRecord) -> None:
        """Keep count of jobs; print what went wrong."""
        about = record.__dict__
        match about.get("event"):
            case LogEvent.RESOURCES_INFO if "cores" in about:
                self._cores = about["cores"]
            case LogEvent.RUN_INFO:
                self._left = Counter(about["stats"])
                self._total = self._left.pop("total")
                self._work, self._began = self._seconds(), time.monotonic()
            case LogEvent.JOB_INFO:
                self._now[about["jobid"]] = about["rule_name"]
            case LogEvent.JOB_FINISHED:
                self._left[self._now.pop(about["job_id"])] -= 1
            case _ if record.getMessage().startswith("Nothing to be done"):
                print(record.getMessage())
            case _ if record.levelno >= WARNING:
                self._now.pop(about.get("jobid", -1), None)  # it failed
                print(self.format(record), file=sys.stderr)

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        super().close()

    def _tell(self) -> None:
        while not self._ended.wait(EVERY):
            if self._now:
                print(self.line(time.monotonic() - self._began), flush=True)

    def line(self, seconds: float) -> str:
        """What there is to say so many seconds after the first job could begin."""
        left, now = self._seconds(), Counter(self._now.values())
        done = self._work - left
        rate = done / seconds if done > 60 else self._cores
        waiting = [rule for rule, jobs in self._left.items() if jobs > now[rule]]
        minutes = f"{int(seconds / 60)}:{int(seconds % 60):02}"
        return (
            f"{minutes}  {self._total - self._left.total()} of {self._total} jobs done, about "
            f"{max(1, round(left / rate / 60))} min left. Now {', '.join(now)}; "
            f"next {', '.join(waiting[:2]) or 'the end'}"
        )

    def _seconds(self) -> float:
        """Of a core, that the jobs take which haven't finished."""
        return sum(
            jobs * self._costs.get(rule, Cost()).core_seconds for rule, jobs in self._left.items()
        )
