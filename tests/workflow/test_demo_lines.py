"""What `make demo` says while it runs: lines of Snakemake's records, and errors as they are."""

import logging

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from triptych.apps.logger.snakemake_logger_plugin_triptych import LogHandler
from triptych.apps.plan import Cost
from triptych.core.job import QUIET

CORES = 2
SECONDS = {"fetch": 0, "draw": 10, "train": 120}
"""What a job of each rule usually takes."""


@pytest.fixture
def handler(monkeypatch):
    """Of a run whose jobs usually take SECONDS."""
    costs = {rule: Cost(core_seconds=seconds) for rule, seconds in SECONDS.items()}
    monkeypatch.setattr(f"{LogHandler.__module__}.read_costs", lambda *_, **__: costs)
    monkeypatch.setenv(QUIET, "1")
    made = LogHandler(None, None)
    made.setFormatter(DefaultFormatter())
    yield made
    made.close()


def tell(handler, event, level=logging.INFO, msg="", at=0.0, **about):
    record = logging.makeLogRecord({"levelno": level, "msg": msg, "event": event, **about})
    record.created = at
    handler.emit(record)


def begin(handler, **jobs):
    """Plan so many jobs of each rule."""
    tell(handler, LogEvent.RESOURCES_INFO, cores=CORES)
    stats = {**jobs, "total": sum(jobs.values())}
    tell(handler, LogEvent.RUN_INFO, stats=stats)


def start(handler, jobid, rule, at):
    tell(handler, LogEvent.JOB_INFO, at=at, jobid=jobid, rule_name=rule)


def end(handler, jobid, at):
    tell(handler, LogEvent.JOB_FINISHED, at=at, job_id=jobid)


def test_a_line_says_what_is_done_made_and_next_and_how_long_it_takes(handler):
    begin(handler, fetch=1, train=4, draw=2)
    start(handler, 7, "fetch", 0)
    start(handler, 1, "train", 0)
    line = handler.line(5)
    assert line.startswith("0:05  0 of 7 jobs done,") and "unknown" in line
    assert line.endswith("Now fetch, train; next train, draw")
    end(handler, 7, 0)
    for number in (2, 3):
        start(handler, number, "draw", 0)
        end(handler, number, 10)
    end(handler, 1, 120)
    start(handler, 4, "train", 120)
    # As fast as usual: three trainings are left, of which one has just begun.
    assert handler.seconds_left(120) == pytest.approx(3 * 120 / CORES)
    assert "4 of 7 jobs done" in handler.line(120) and " 3 min" in handler.line(120)
    assert handler.seconds_left(59) is None  # too early to know


@pytest.mark.parametrize("slowness", [0.25, 3.5])
def test_a_machine_is_as_fast_as_its_finished_jobs_say(handler, slowness):
    begin(handler, fetch=1, train=3, draw=6)
    start(handler, 0, "fetch", 0)
    end(handler, 0, 50)
    assert handler.seconds_left(90) is None  # a job without a usual time has ended
    start(handler, 1, "train", 50)
    end(handler, 1, 50 + 120 * slowness)
    took = 50 + 120 * slowness
    expected = (took / 120) * (2 * 120 + 6 * 10) / CORES
    assert handler.seconds_left(max(60, took)) == pytest.approx(expected)


def test_a_failure_is_told_as_snakemake_tells_it_and_its_job_isnt_made_any_more(handler, capsys):
    tell(handler, LogEvent.RUN_INFO, stats={"train": 2, "total": 2})
    tell(handler, LogEvent.JOB_INFO, jobid=1, rule_name="train")
    tell(handler, LogEvent.JOB_ERROR, logging.ERROR, jobid=1, rule_name="train", **FAILED)
    tell(handler, None, logging.INFO, "Select jobs to execute...")
    tell(handler, None, logging.INFO, "Nothing to be done (all is there).")
    out, said = capsys.readouterr()
    assert out == "Nothing to be done (all is there).\n"
    assert "Error in rule train" in said and "results/logs/train.log" in said
    assert "Select jobs" not in said
    assert "Now ;" in handler.line(9)


FAILED = {"input": [], "output": ["a"], "log": ["results/logs/train.log"], "rule_msg": None}
FAILED |= {"conda_env": None, "shellcmd": None, "aux": {}}
