"""Signals and time limits turn into a wish that a loop can ask about."""

import os
import signal
import time

import pytest

from triptych.core import stopping
from triptych.core.stopping import (
    MARGIN_SECONDS,
    Stopped,
    StopRequest,
    listening,
    scheduler_limit,
)


@pytest.fixture(autouse=True)
def handlers():
    """Put the process's own handlers back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_wish_and_not_the_end(number):
    stop = StopRequest()
    assert stop.reason is None
    os.kill(os.getpid(), number)
    assert stop.reason == signal.Signals(number).name


def test_signals_do_afterwards_what_they_did_before():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), listening() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.reason == "SIGINT"
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_a_job_stops_a_little_before_its_time_limit(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stop = StopRequest(limit_minutes=60)
    now[0] += 3600 - MARGIN_SECONDS - 1
    assert stop.reason is None
    now[0] += 2
    assert stop.reason == "its time limit"


def test_a_short_limit_leaves_half_of_it_for_work(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stop = StopRequest(limit_minutes=1)
    now[0] = 29.0
    assert stop.reason is None
    now[0] = 31.0
    assert stop.reason is not None


def test_only_a_scheduler_enforces_a_rules_runtime(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert scheduler_limit(30) is None
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert scheduler_limit(30) == 30


def test_stopped_asks_to_be_started_again():
    assert Stopped("SIGTERM").code == stopping.SAVED_EXIT_CODE == os.EX_TEMPFAIL
    assert "resume" in str(Stopped("SIGTERM"))
