"""What a job leaves behind: its log, its traceback, its provenance."""

import errno
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from triptych.core.checkpoint import Checkpoint
from triptych.core.files import atomic_path
from triptych.core.job import QUIET, job
from triptych.core.provenance import LIBRARY, parameters_digest
from triptych.core.stopping import SAVED_EXIT_CODE, Stopped


@pytest.fixture
def snakemake(tmp_path):
    return SimpleNamespace(
        rule="module_rl_something",  # as a workflow names it that uses this one
        log=[str(tmp_path / "results/logs/rl_something/hopper.log")],
        input=[],
        output=[str(tmp_path / "out.csv")],
        wildcards={"task": "hopper"},
        params={"code": {}, "updates": 3},
        threads=1,
    )


def test_a_job_removes_what_its_killed_attempts_left_and_nothing_of_other_jobs(snakemake, tmp_path):
    snakemake.params["checkpoint"] = str(tmp_path / "checkpoint")
    mine, others = tmp_path / "out.csv", tmp_path / "out.png"
    targets = (mine, tmp_path / "checkpoint" / "run" / "state.pt", others)
    killed = [atomic_path(target) for target in targets]  # never left, as if by SIGKILL
    left = [writing.__enter__() for writing in killed]
    assert all(path.exists() for path in left)
    with job(snakemake):
        pass
    assert [path.exists() for path in left] == [False, False, True]


def test_provenance_says_how_a_result_was_made(snakemake, tmp_path):
    with job(snakemake):
        pass
    record = json.loads((tmp_path / "results/provenance/rl_something/hopper.json").read_text())
    assert record["rule"] == "rl_something"
    assert record["params"] == {"code": {}, "updates": 3}
    assert record["seconds"] >= 0
    assert record["peak_memory_bytes"] > 1e6
    assert "python" in record["packages"]


def test_pytorch_computes_on_the_threads_that_the_rule_was_given(snakemake):
    snakemake.threads, before = 3, torch.get_num_threads()
    try:
        with job(snakemake):
            assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert "threads: 3\n" in Path(snakemake.log[0]).read_text()


def test_a_failure_leaves_its_traceback_in_the_log_and_its_message_on_the_terminal(
    snakemake, tmp_path, capfd
):
    with pytest.raises(SystemExit) as failed, job(snakemake):
        raise ValueError("the file lacks a key")
    assert failed.value.code == 1
    assert "Traceback" in (tmp_path / "results/logs/rl_something/hopper.log").read_text()
    terminal = capfd.readouterr().err
    assert "rl_something failed: ValueError: the file lacks a key" in terminal
    assert "Traceback" not in terminal
    assert not (tmp_path / "results/provenance").exists()


def test_a_full_disk_is_told_with_what_to_do_whichever_library_found_it(snakemake, capfd):
    with pytest.raises(SystemExit), job(snakemake):
        raise RuntimeError(f"writing failed: {os.strerror(errno.ENOSPC)}")
    assert "Make room and run again" in capfd.readouterr().err


def test_a_quiet_jobs_words_go_to_its_log_alone_but_for_why_it_failed(
    snakemake, tmp_path, capfd, monkeypatch
):
    monkeypatch.setenv(QUIET, "1")
    with pytest.raises(SystemExit), job(snakemake):
        print("50 episodes")
        logging.getLogger("triptych").warning("a short one")
        raise ValueError("the file lacks a key")
    log = (tmp_path / "results/logs/rl_something/hopper.log").read_text()
    assert "50 episodes" in log and "a short one" in log
    terminal = capfd.readouterr()
    assert terminal.err.startswith("rl_something failed: ValueError: the file lacks a key")
    assert terminal.out == ""


def test_attempts_pile_up_beside_the_checkpoint(snakemake, tmp_path):
    snakemake.params["checkpoint"] = str(tmp_path / "checkpoint")
    with pytest.raises(SystemExit) as stopped, job(snakemake):
        print("first attempt")
        raise Stopped("SIGTERM")
    assert stopped.value.code == SAVED_EXIT_CODE
    with job(snakemake):
        print("second attempt")
    history = (tmp_path / "checkpoint/attempts.log").read_text()
    assert history.index("first attempt") < history.index("SIGTERM")
    assert history.index("SIGTERM") < history.index("second attempt")
    log = (tmp_path / "results/logs/rl_something/hopper.log").read_text()
    assert "first attempt" not in log


def seconds(tmp_path):
    record = json.loads((tmp_path / "results/provenance/rl_something/hopper.json").read_text())
    assert record["seconds"] == pytest.approx(sum(record["attempts"]))
    return record["attempts"]


def test_a_resumed_jobs_seconds_are_those_of_all_attempts(snakemake, tmp_path):
    for _ in range(2):
        with pytest.raises(SystemExit), job(snakemake):
            time.sleep(0.05)
            raise Stopped("SIGTERM")
    with job(snakemake):
        pass
    first, second, _ = seconds(tmp_path)
    assert first >= 0.05 and second >= 0.05
    with job(snakemake):  # what it is run again for is another story
        pass
    assert len(seconds(tmp_path)) == 1


def test_a_state_costs_what_it_took_whatever_its_job_is_run_again_for(snakemake, tmp_path):
    """mmcv#37: the time of a training that was resumed is that of its end alone."""

    def train(rate, finished=True):
        snakemake.params["updates"] = rate
        with job(snakemake):
            checkpoint = Checkpoint(tmp_path / "state", str(rate))
            if checkpoint.load() is None:
                time.sleep(0.2)
                checkpoint.save({"done": 1})
            if not finished:
                raise Stopped("SIGTERM")

    train(1)
    for _ in range(2):  # --forcerun
        train(1)
        first, again = seconds(tmp_path)
        assert first >= 0.2 > again
    with pytest.raises(SystemExit):
        train(2, finished=False)  # another training
    train(2)
    first, again = seconds(tmp_path)
    assert 0.4 > first >= 0.2 > again


LOST_TERMINAL = """
from types import SimpleNamespace
from triptych.core.job import job
with job(SimpleNamespace(log=["results/logs/a/b.log"], input=[], output=[], wildcards={},
                         params={}, threads=1)):
    for number in range(5):
        print("line \u266b", number, flush=True)
"""


@pytest.mark.parametrize("gone", [True, False])
def test_a_terminal_that_is_gone_or_shows_less_ends_neither_the_log_nor_the_job(tmp_path, gone):
    """tqdm#1033"""
    reading, writing = os.pipe()
    if gone:
        os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", LOST_TERMINAL],
        cwd=tmp_path,
        stdout=writing,
        stderr=writing,
        env={**os.environ, "PYTHONPATH": str(LIBRARY), "PYTHONIOENCODING": "ascii"},
    )
    os.close(writing)
    if not gone:
        os.close(reading)
    assert done.returncode == 0
    assert (tmp_path / "results/logs/a/b.log").read_text().splitlines() == [
        f"line \u266b {number}" for number in range(5)
    ]


def test_what_a_killed_attempt_took_is_counted_up_to_its_last_beat(snakemake, tmp_path):
    killed = tmp_path / "results/leases/rl_something/hopper/attempts"
    killed.parent.mkdir(parents=True)
    killed.write_text(
        json.dumps({"job": parameters_digest(snakemake.params), "seconds": [7.0, 5.0]})
    )
    with job(snakemake):
        pass
    assert seconds(tmp_path)[:2] == [7.0, 5.0]
