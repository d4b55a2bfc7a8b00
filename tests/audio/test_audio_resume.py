"""A training that was interrupted ends as if it had not been."""

import signal
from pathlib import Path

import pytest
import tiny_retrieval as job
import torch
from broken_runs import start, wait_for_checkpoint
from stops import Never, StopAfter

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped

RUNNER = Path(job.__file__)


def same(first, second):
    return first.history.equals(second.history) and all(
        torch.equal(first.weights[name], second.weights[name]) for name in first.weights
    )


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return job.run(tmp_path_factory.mktemp("unbroken"))


@pytest.mark.parametrize("times", [0, 3, 7])
def test_a_stopped_run_ends_with_an_unbroken_runs_bits(tmp_path, unbroken, times):
    """Stopped before the first step, within an epoch, and behind one."""
    with pytest.raises(Stopped, match="stopped by SIGTERM"):
        job.run(tmp_path, StopAfter(times))
    assert same(job.run(tmp_path), unbroken)


def test_a_finished_run_is_read_and_not_trained_again(tmp_path, unbroken):
    job.run(tmp_path)
    task = job.task()
    task.batches._store = None  # reading a clip would fail
    trained = job.train(task, "", job.CPU, Checkpoint(tmp_path, "x"), Never())
    assert same(trained, unbroken)


@pytest.mark.slow
def test_a_run_that_is_killed_ends_with_an_unbroken_runs_bytes(tmp_path):
    folder, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    folder.mkdir()
    unbroken.mkdir()
    process = start(RUNNER, folder)
    wait_for_checkpoint(folder, process, 5)
    process.send_signal(signal.SIGKILL)
    output = process.communicate()[0]
    assert process.returncode == -signal.SIGKILL, output
    assert 0 < Checkpoint(folder / "checkpoint", "x").load()["done"] < 36

    job.main(folder, Never())
    job.main(unbroken, Never())
    for name in ("weights.safetensors", "history.csv"):
        assert (folder / name).read_bytes() == (unbroken / name).read_bytes()
