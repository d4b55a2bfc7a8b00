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
FIRST = 60.0
"""Seconds in which a machine shows too little of its speed."""
ENOUGH = 10.0
"""Expected seconds of finished jobs below which the time left is unknown."""


class LogHandler(LogHandlerBase):
    """Writes the lines from a thread of its own, since a job may take minutes.

    The time left follows from what this machine has shown: jobs take as many times their expected
    seconds (resources/costs.csv) as those that have finished.
    """

    writes_to_stream, writes_to_file = True, False
    has_filter, has_formatter, needs_rulegraph = True, False, False

    def __post_init__(self) -> None:
        os.environ[QUIET] = "1"
        self._costs = read_costs(SOURCE / COSTS, "demo")
        self._left = Counter[str]()  # jobs by rule, in the order of the graph
        self._running: dict[int, tuple[str, float]] = {}  # rule and when it began, by job
        self._took = self._expected = 0.0  # seconds of the finished jobs
        self._total, self._cores, self._began = 0, 1, time.time()
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
                self._began = record.created
            case LogEvent.JOB_INFO:
                self._running[about["jobid"]] = about["rule_name"], record.created
            case LogEvent.JOB_FINISHED:
                rule, began = self._running.pop(about["job_id"])
                self._left[rule] -= 1
                self._took += record.created - began
                self._expected += self._usual(rule)
            case _ if record.getMessage().startswith("Nothing to be done"):
                print(record.getMessage())
            case _ if record.levelno >= WARNING:
                self._running.pop(about.get("jobid", -1), None)  # it failed
                print(self.format(record), file=sys.stderr)

    def close(self) -> None:
        self._ended.set()
        super().close()

    def _tell(self) -> None:
        while not self._ended.wait(EVERY):
            if self._running:
                print(self.line(time.time() - self._began), flush=True)

    def line(self, seconds: float) -> str:
        """A line of progress, so many seconds after the first job could begin."""
        running = Counter(rule for rule, _ in list(self._running.values()))
        waiting = [rule for rule, jobs in self._left.items() if jobs > running[rule]]
        left = self.seconds_left(seconds)
        said = "unknown yet" if left is None else f"about {max(1, round(left / 60))} min"
        return (
            f"{int(seconds / 60)}:{int(seconds % 60):02}  "
            f"{self._total - self._left.total()} of {self._total} jobs done, time left: {said}. "
            f"Now {', '.join(running)}; next {', '.join(waiting[:2]) or 'the end'}"
        )

    def seconds_left(self, seconds: float) -> float | None:
        """Seconds until the last job ends, or None in the first minute and while hardly any work
        is done."""
        if seconds < FIRST or self._expected < ENOUGH:
            return None
        now = self._began + seconds
        usual = sum(jobs * self._usual(rule) for rule, jobs in self._left.items())
        begun = sum(now - began for _, began in list(self._running.values()))
        return max(usual * self._took / self._expected - begun, 0.0) / self._cores

    def _usual(self, rule: str) -> float:
        """Expected seconds of a job of a rule."""
        return self._costs.get(rule, Cost()).core_seconds
