"""Schedule, batches, caption swap, the update itself, selection, and resume."""

import collections
import dataclasses
import gc
import itertools
import math
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny_retrieval as job
import torch
from stops import Never, StopAfter

from triptych.audio.training import batches as batches_module
from triptych.audio.training.batches import Batches, Pair, caption_of, load
from triptych.audio.training.settings import Schedule
from triptych.audio.training.trainer import Validation
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.core.stopping import Interrupted, Stopped, listening

REPORT = Schedule(15, 1, 15, 2e-5, 1e-7)


@pytest.mark.parametrize(
    ("epoch", "rate"),
    [(0.25, 0.5e-5), (4.5, 1e-7 + 1.99e-5 * (1 + math.sqrt(0.5)) / 2), (15.7, 1e-7)],
)
def test_the_rate_rises_for_an_epoch_and_falls_along_a_cosine(epoch, rate):
    assert REPORT.rate(epoch) == pytest.approx(rate, rel=1e-12, abs=1e-20)


def batches(swap=0.3, longest=0.02, seed=3):
    settings = dataclasses.replace(job.SETTINGS, swap=swap, longest_seconds=longest)
    return Batches(job.PAIRS, job.Noise(), settings, seed)


def test_each_epoch_has_each_pair_once_in_an_order_of_its_own_and_its_seed():
    orders = [
        torch.cat([data[3 * epoch + n].chosen for n in range(3)]).tolist()
        for data, epoch in ((batches(), 0), (batches(), 1), (batches(seed=4), 0))
    ]
    assert all(sorted(order) == list(range(24)) for order in orders)
    assert orders[0] != orders[1] and orders[0] != orders[2]


def test_a_batch_holds_what_its_pairs_say():
    batch = batches(swap=0.0, longest=60.0)[1]
    for row, index in enumerate(batch.chosen.tolist()):
        pair, sound = job.PAIRS[index], job.Noise().read(job.PAIRS[index].clip)
        assert batch.captions[row] == pair.caption
        assert batch.lengths[row] == len(sound)
        np.testing.assert_array_equal(batch.recordings[row, : len(sound)], sound)
        assert not batch.recordings[row, len(sound) :].any()


def test_captions_are_swapped_with_probability_three_tenths_for_each_variation_alike():
    pairs = [Pair(f"clip {n}", n % 5, "own", tuple("abcde")) for n in range(20_000)]
    counts = collections.Counter(caption_of(pair, 0.3, 0, 2) for pair in pairs)
    assert abs(counts.pop("own") / 20_000 - 0.7) < 5 * math.sqrt(0.21 / 20_000)
    assert sorted(counts) == list("abcde")
    assert max(abs(n / 20_000 - 0.06) for n in counts.values()) < 5 * math.sqrt(0.06 / 20_000)


@pytest.mark.slow
def test_the_number_of_workers_makes_no_difference():
    data = batches()
    alone, read_ahead = (load(data, range(2, 12), workers, False) for workers in (0, 2))
    for first, second in itertools.zip_longest(alone, read_ahead):
        assert first.captions == second.captions
        for name in ("recordings", "lengths", "chosen"):
            assert torch.equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize(("megabytes", "readers"), [(4, 0), (33, 1), (64, 2)])
def test_no_more_processes_read_ahead_than_shared_memory_has_room_for(
    monkeypatch, caplog, megabytes, readers
):
    """pytorch#5040: a batch that finds no room is lost, and the training waits for ever."""
    data = batches()
    room = SimpleNamespace(f_bavail=megabytes, f_frsize=2**20)
    monkeypatch.setattr(batches_module, "SHARED_MEMORY", Path("/"))
    monkeypatch.setattr(batches_module.os, "statvfs", lambda path: room)
    monkeypatch.setattr(Batches, "largest_bytes", 10 * 2**20)
    before = multiprocessing.active_children()
    source = load(data, range(2, 12), 2, False)
    first = next(source)
    assert len(set(multiprocessing.active_children()) - set(before)) == readers
    assert first.captions == data[2].captions
    assert [record.args[1:] for record in caplog.records] == [(readers, 2)] * (readers < 2)
    source.close()


def test_the_largest_batch_is_one_of_the_longest_clips():
    longest = max(map(job.Noise().frames, job.CLIPS))
    assert batches(longest=60.0).largest_bytes == 4 * 8 * longest
    assert batches(longest=0.02).largest_bytes == 4 * 8 * 640


class Hanging(job.Noise):
    """Clips on a disk that doesn't answer."""

    def read(self, clip, start=0, frames=None):
        time.sleep(1000)


@pytest.mark.slow  # torch waits for five seconds for processes that hang
@pytest.mark.parametrize("stopped", [True, False])
def test_waiting_for_processes_that_hang_ends_by_a_signal_or_after_a_while(monkeypatch, stopped):
    monkeypatch.setattr(batches_module, "PATIENCE", 60.0 if stopped else 1.0)
    monkeypatch.setattr(batches_module, "ATTEMPTS", 2)
    with listening():
        source = load(Batches(job.PAIRS, Hanging(), job.SETTINGS, 3), range(4), 1, False)
        if stopped:
            threading.Timer(1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(Interrupted if stopped else InputError, match=r"SIGTERM|workers: 0"):
            next(source)
    del source
    gc.collect()
    assert not multiprocessing.active_children()


class HangingOnce(job.Noise):
    """Clips of which the first process that reads one never gets it."""

    def __init__(self, mark):
        self.mark = mark

    def read(self, clip, start=0, frames=None):
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return super().read(clip, start, frames)
        time.sleep(1000)


@pytest.mark.slow
def test_processes_that_hang_are_replaced(monkeypatch, tmp_path):
    monkeypatch.setattr(batches_module, "PATIENCE", 5.0)
    data = Batches(job.PAIRS, HangingOnce(tmp_path / "mark"), job.SETTINGS, 3)
    captions = [batch.captions for batch in load(data, range(4), 1, False)]
    assert captions == [batches()[step].captions for step in range(4)]


def test_the_update_is_adams_with_the_scheduled_rate(tmp_path):
    trained = job.run(tmp_path, dropout=0.0, validate=False)
    task = job.task(dropout=0.0)
    model = task.model
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.999), eps=1e-8, foreach=False)
    losses = []
    for step in range(12):
        batch = task.batches[step]
        factor = task.draw(keyed_generator(job.CPU, "draws", task.seed, step))
        audio = model.embed_audio(batch.recordings, batch.lengths, factor)
        text = model.embed_text(model.text.tokenize(batch.captions))
        loss = task.loss(audio, text, batch.chosen)
        adam.zero_grad()
        loss.backward()
        adam.param_groups[0]["lr"] = job.SETTINGS.schedule.rate(step / 3)
        adam.step()
        losses.append(loss.item())
    for name, value in model.state_dict().items():
        torch.testing.assert_close(trained.weights[name], value, rtol=1e-4, atol=1e-6)
    means = np.reshape(losses, (4, 3)).mean(1)
    np.testing.assert_allclose(trained.history["train_loss"], means, rtol=1e-5)


def with_validation(tmp_path, monkeypatch, values):
    """A training whose epochs are as good as `values` say, and its weights after each epoch."""
    seen = []

    def validate(task, device):
        seen.append({name: value.clone() for name, value in task.model.state_dict().items()})
        return Validation(loss=1 / len(seen), map_at_10=values[len(seen) - 1])

    monkeypatch.setattr(job.TinyTask, "validate", validate)
    return job.run(tmp_path), seen


@pytest.mark.parametrize(("values", "best"), [([0.1, 0.4, 0.3, 0.2], 2), ([0.3, 0.1, 0.3, 0.0], 1)])
def test_the_best_epoch_by_validation_map_is_taken_of_equal_ones_the_first(
    tmp_path, monkeypatch, values, best
):
    trained, seen = with_validation(tmp_path, monkeypatch, values)
    for name, value in seen[best - 1].items():
        assert torch.equal(trained.weights[name], value)
    columns = ["step", "validation_loss", "validation_map_at_10", "chosen"]
    assert trained.history[columns].to_numpy().tolist() == [
        [3 * epoch, 1 / epoch, values[epoch - 1], epoch == best] for epoch in (1, 2, 3, 4)
    ]


def test_without_validation_the_last_weights_are_taken(tmp_path, monkeypatch):
    plain = job.run(tmp_path / "plain", validate=False)
    trained, seen = with_validation(tmp_path / "validated", monkeypatch, [0.1, 0.2, 0.3, 0.4])
    assert all(torch.equal(plain.weights[name], value) for name, value in seen[3].items())
    assert plain.history["chosen"].tolist() == [0, 0, 0, 1]
    assert plain.history["validation_map_at_10"].isna().all()
    assert plain.history["learning_rate"].equals(trained.history["learning_rate"])


def same(first, second):
    return first.history.equals(second.history) and all(
        torch.equal(first.weights[name], second.weights[name]) for name in first.weights
    )


@pytest.mark.parametrize("times", [0, 3, 7])
def test_a_stopped_run_ends_with_an_unbroken_runs_bits_and_is_not_trained_again(tmp_path, times):
    """Stopped before the first step, within an epoch, and behind one."""
    unbroken = job.run(tmp_path / "unbroken")
    with pytest.raises(Stopped, match="stopped by SIGTERM"):
        job.run(tmp_path / "broken", StopAfter(times))
    assert same(job.run(tmp_path / "broken"), unbroken)
    task = job.task()
    task.batches.store = None  # reading a clip would fail
    again = job.train(task, "", job.CPU, Checkpoint(tmp_path / "broken", "x"), Never())
    assert same(again, unbroken)
