"""The loop that all trainings share, with a training that only counts."""

import pytest
import torch
from stops import Never, StopAfter

from triptych.core.checkpoint import Checkpoint
from triptych.core.progress import measured_paces
from triptych.core.stopping import Interrupted, Stopped
from triptych.core.training_loop import DivergedError, LoopSettings, TrainingLoop

STEPS = 10


class Counting:
    """Sums up its steps' numbers, evaluated at each fourth and the last; notes what it is asked."""

    def __init__(self, bad_from=None, stop=None, worth_saving=False):
        self.done, self.total, self.rows, self.seen = 0, torch.zeros(()), [], []
        self._bad_from, self._stop, self._worth_saving = bad_from, stop, worth_saving

    @property
    def evaluation_due(self):
        due = self.done % 4 == 0 or self.done == STEPS
        return due and self.done > (self.rows[-1][0] if self.rows else 0)

    def step(self):
        self.total += self.done
        self.done += 1
        self.seen.append(f"step {self.done}")

    def check_divergence(self):
        self.seen.append("check")
        bad = self._bad_from is not None and self.done >= self._bad_from
        return f"it went wrong at step {self.done}" if bad else ""

    def evaluate(self):
        if self._stop and self._stop.reason:
            raise Interrupted(self._stop.reason)
        self.rows.append((self.done, float(self.total)))
        self.seen.append("evaluate")
        return self._worth_saving

    def state(self):
        self.seen.append("save")
        rows = [list(row) for row in self.rows]
        return {"done": self.done, "total": self.total, "rows": rows}

    def restore(self, state):
        self.done, self.total = state["done"], state["total"]
        self.rows = [tuple(row) for row in state["rows"]]


def run(folder, training=None, stop=None, **settings):
    training, stop = training or Counting(), stop or Never()
    loop = TrainingLoop(
        training,
        LoopSettings(STEPS, ("turn", "turns"), advice="Count slower.", **settings),
        Checkpoint(folder, "x"),
        lambda: stop.reason,
    )
    resumed = loop.restore()
    loop.run("counting", training.step)
    return training, resumed


def saved(folder):
    return Checkpoint(folder, "x").load()["done"]


def test_what_comes_when(tmp_path):
    """Checks before every save and evaluation; the state at the end is saved in any case."""
    training, resumed = run(tmp_path, check_every=3, save_every=5)
    assert not resumed
    turns = " ".join(training.seen).split("step ")[1:]
    assert [turn.split(" ", 1)[1].strip() if " " in turn else "" for turn in turns] == [
        "",
        "",
        "check",
        "check evaluate",
        "check save",
        "check",
        "",
        "check evaluate",
        "check",
        "check save check evaluate check save",
    ]


@pytest.mark.parametrize("times", range(STEPS + 1))
def test_a_training_that_was_stopped_ends_as_if_it_had_not(tmp_path, times, caplog):
    expected, _ = run(tmp_path / "unbroken")
    with pytest.raises(Stopped, match="stopped by SIGTERM"):
        run(tmp_path / "broken", stop=StopAfter(times))
    assert saved(tmp_path / "broken") == times
    caplog.set_level("INFO")
    found, resumed = run(tmp_path / "broken")
    assert resumed and f"resuming at turn {times} of 10" in caplog.text
    assert found.rows == expected.rows and found.total == expected.total


def test_an_evaluation_that_is_interrupted_is_done_again(tmp_path):
    with pytest.raises(Stopped, match="SIGTERM"):
        run(tmp_path, Counting(stop=StopAfter(1)))
    assert saved(tmp_path) == 8
    found, _ = run(tmp_path)
    assert [row[0] for row in found.rows] == [4, 8, 10]


def test_a_step_that_is_interrupted_while_it_waits_is_done_again(tmp_path):
    training = Counting()

    def step():
        if training.done == 5:
            raise Interrupted("SIGHUP")
        training.step()

    settings = LoopSettings(STEPS, ("turn", "turns"))
    loop = TrainingLoop(training, settings, Checkpoint(tmp_path, "x"), lambda: None)
    with pytest.raises(Stopped, match="SIGHUP"):
        loop.run("counting", step)
    assert saved(tmp_path) == 5


def test_divergence_keeps_the_last_good_state_and_says_which(tmp_path):
    with pytest.raises(DivergedError, match=r"step 6; the last good state, of turn 5, .*slower\."):
        run(tmp_path, Counting(bad_from=6), save_every=1)
    assert saved(tmp_path) == 5


def test_a_finished_training_is_read_and_not_saved_again(tmp_path):
    run(tmp_path)
    training, resumed = run(tmp_path)
    assert resumed and training.seen == [] and training.done == STEPS


class Slow(Counting):
    """Takes two seconds a step, a hundred an evaluation and fifty a save, by a clock of its own."""

    clock = 0.0

    def step(self):
        Slow.clock += 20 if self.done == 0 else 2
        super().step()

    def evaluate(self):
        Slow.clock += 100
        return super().evaluate()

    def state(self):
        Slow.clock += 50
        return super().state()


@pytest.mark.parametrize("interval", [1, 3, 100])
def test_the_pace_is_that_of_the_steps_alone(tmp_path, monkeypatch, interval):
    monkeypatch.setattr("triptych.core.progress.time.perf_counter", lambda: Slow.clock)
    run(tmp_path, Slow(worth_saving=True), check_every=interval, save_every=5)
    pace = measured_paces()[-1]
    assert pace["unit"] == "turn" and pace["name"] == "counting"
    assert pace["seconds_per_step"] == 2
