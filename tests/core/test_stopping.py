"""Signals and time limits turn into a wish that a loop can ask about."""

import os
import signal
import time

import pytest

from triptych.core.stopping import (
    MARGIN_SECONDS,
    SCHEDULERS,
    SIGNALS,
    Interrupted,
    StopRequest,
    interruptible,
    scheduler_limit,
)


@pytest.fixture(autouse=True)
def handlers():
    """Put the process's own handlers back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_a_wish_and_not_the_end(number):
    stop = StopRequest()
    assert stop.reason is None
    os.kill(os.getpid(), number)
    assert stop.reason == signal.Signals(number).name


def test_a_lost_terminal_is_no_wish_under_nohup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = StopRequest()
    os.kill(os.getpid(), signal.SIGHUP)
    assert stop.reason is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_wait_that_would_never_end(number):
    stop = StopRequest()
    with pytest.raises(Interrupted, match=signal.Signals(number).name), interruptible():
        os.kill(os.getpid(), number)
        time.sleep(60)
    assert stop.reason == signal.Signals(number).name
    os.kill(os.getpid(), number)  # outside a wait it is a wish again


@pytest.mark.parametrize(("minutes", "seconds"), [(60, 3600 - MARGIN_SECONDS), (1, 30)])
def test_a_job_stops_a_little_before_its_time_limit(monkeypatch, minutes, seconds):
    """Of a short one half is left for work."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stop = StopRequest(limit_minutes=minutes)
    now[0] += seconds - 1
    assert stop.reason is None
    now[0] += 2
    assert stop.reason == "its time limit"


@pytest.fixture
def no_scheduler(monkeypatch):
    for name in (*SCHEDULERS, "TRIPTYCH_DEADLINE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID"])
def test_only_a_scheduler_enforces_a_rules_runtime(no_scheduler, monkeypatch, name):
    assert scheduler_limit(30) is None
    monkeypatch.setenv(name, "7")
    assert scheduler_limit(30) == 30
    assert scheduler_limit(None) is None


def test_a_deadline_in_the_environment_holds_with_any_scheduler_or_none(no_scheduler, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    monkeypatch.setenv("TRIPTYCH_DEADLINE", "1001200")
    assert scheduler_limit(None) == 20
    assert scheduler_limit(10) == 20
    monkeypatch.setenv("PBS_JOBID", "7")
    assert scheduler_limit(10) == 10
    monkeypatch.setenv("TRIPTYCH_DEADLINE", "999000")
    assert StopRequest(scheduler_limit(10)).reason == "its time limit"
    monkeypatch.setenv("TRIPTYCH_DEADLINE", "7:00")
    with pytest.raises(ValueError, match="TRIPTYCH_DEADLINE is '7:00'; expected seconds"):
        scheduler_limit(10)
