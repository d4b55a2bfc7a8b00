"""Several processes that share a batch do what one does with the whole of it."""

import os
import signal
import sys
import threading
import time

import pytest
import tiny_retrieval as job
import torch
from safetensors.torch import load_file, save_file
from stops import Never, StopAfter

from triptych.audio.training.launching import launch
from triptych.audio.training.parallel import Alone
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped, StopRequest


def gradients(task, group):
    """What the weights' gradients are after one step of a rate of nothing."""
    from triptych.audio.training.trainer import TrainingRun
    from triptych.core.checkpoint import Checkpoint

    run = TrainingRun(task, group, Checkpoint("nowhere", "x"))
    run.step(task.batches[0])
    return {name: value.grad for name, value in task.model.named_parameters()}


def settings(devices, **changes):
    return job.dataclasses.replace(job.SETTINGS, devices=devices, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [None, 3])
def test_a_step_of_two_processes_is_that_of_one_with_the_whole_batch(tmp_path, chunk):
    def member(group):
        task = job.task(settings(2, chunk=chunk), dropout=0.0, rank=group.rank)
        found = gradients(task, group)
        save_file(found, tmp_path / f"{group.rank}.safetensors")

    expected = gradients(job.task(dropout=0.0), Alone(job.CPU))
    launch(member, 2, "cpu", Never())
    for rank in (0, 1):
        found = load_file(tmp_path / f"{rank}.safetensors")
        for name, gradient in expected.items():
            assert gradient.abs().max() > 1e-4
            torch.testing.assert_close(found[name], gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_training_of_two_processes_is_stopped_and_resumed(tmp_path):
    def training(folder, stop):
        def member(group):
            trained = job.run(tmp_path / folder, stop, group, devices=2, rank=group.rank)
            assert (trained is None) == (group.rank == 1)
            if trained:
                save_file(trained.weights, tmp_path / f"{folder}.safetensors")

        launch(member, 2, "cpu", stop)

    training("unbroken", Never())
    with pytest.raises(Stopped):
        training("broken", StopAfter(5))
    assert not (tmp_path / "broken.safetensors").exists()
    training("broken", Never())
    unbroken, broken = (load_file(tmp_path / f"{n}.safetensors") for n in ("unbroken", "broken"))
    assert all(torch.equal(unbroken[name], broken[name]) for name in unbroken)


def test_a_wish_to_stop_reaches_the_processes(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    stop = StopRequest()
    try:

        def member(group):
            (tmp_path / str(group.rank)).touch()
            while not group.any(stop.reason is not None):
                time.sleep(0.01)
            raise Stopped(stop.reason)

        def ask():
            while len(list(tmp_path.iterdir())) < 2:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=ask).start()
        began = time.monotonic()
        with pytest.raises(Stopped, match="SIGTERM"):
            launch(member, 2, "cpu", stop)
        assert time.monotonic() - began < 20
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)


def test_one_device_needs_neither_processes_nor_accelerate(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)  # importing it would fail
    seen = []
    launch(lambda group: seen.append((os.getpid(), group.size)), 1, "cpu", Never())
    assert seen == [(os.getpid(), 1)]


def test_a_failure_in_one_process_ends_all(tmp_path):
    def member(group):
        if group.rank == 1:
            raise InputError("the second one fails")
        group.any(False)

    with pytest.raises(Exception, match="the second one fails"):
        launch(member, 2, "cpu", Never())


def test_a_batch_must_be_shareable():
    with pytest.raises(InputError, match="can't be shared by 3 devices"):
        settings(3)
