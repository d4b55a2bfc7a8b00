"""What `make demo` says while it runs: lines of Snakemake's records, and errors as they are."""

import logging

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from triptych.apps.logger.snakemake_logger_plugin_triptych import LogHandler
from triptych.apps.plan import Cost
from triptych.core.job import QUIET


@pytest.fixture
def handler(monkeypatch):
    """Of a run whose jobs `train` take two minutes each, `draw` one, and others nothing."""
    costs = {"train": Cost(core_seconds=120), "draw": Cost(core_seconds=60)}
    monkeypatch.setattr(f"{LogHandler.__module__}.read_costs", lambda *_, **__: costs)
    monkeypatch.setenv(QUIET, "1")
    made = LogHandler(None, None)
    made.setFormatter(DefaultFormatter())
    yield made
    made.close()


def tell(handler, event, level=logging.INFO, msg="", **about):
    record = logging.makeLogRecord({"levelno": level, "msg": msg, "event": event, **about})
    handler.emit(record)


def test_a_line_says_what_is_done_made_and_next_and_how_long_it_takes(handler):
    tell(handler, LogEvent.RESOURCES_INFO, cores=2)
    stats = {"fetch": 1, "train": 4, "draw": 2, "page": 1, "total": 8}
    tell(handler, LogEvent.RUN_INFO, stats=stats)
    tell(handler, LogEvent.JOB_INFO, jobid=7, rule_name="fetch")
    tell(handler, LogEvent.JOB_INFO, jobid=1, rule_name="train")
    first = "0:05  0 of 8 jobs done, about 5 min left. Now fetch, train; next train, draw"
    assert handler.line(5) == first  # 600 core seconds on two cores
    tell(handler, LogEvent.JOB_FINISHED, job_id=7)
    tell(handler, LogEvent.JOB_FINISHED, job_id=1)
    tell(handler, LogEvent.JOB_INFO, jobid=2, rule_name="draw")
    # A busy machine: 120 of 600 took two minutes, and 480 are left.
    assert handler.line(120) == (
        "2:00  2 of 8 jobs done, about 8 min left. Now draw; next train, draw"
    )


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
