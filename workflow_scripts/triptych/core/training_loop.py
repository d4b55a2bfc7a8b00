"""The loop of every training: step, look for trouble, save, evaluate, stop when asked.

A look at losses or weights makes a GPU wait, so trainings look now and then, and always before a
state is saved: a bad state never replaces a good one.
"""

import logging
import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from triptych.core.errors import InputError
from triptych.core.progress import Progress
from triptych.core.stopping import Interrupted, Stopped

logger = logging.getLogger(__name__)

_paces: list[dict[str, Any]] = []


def measured_paces() -> list[dict[str, Any]]:
    """Seconds a step of every training that this process ran, for provenance: name, unit, steps
    measured, seconds_per_step (median; without evaluations, saves and the first measurement)."""
    return [pace.copy() for pace in _paces]


class _Pace:
    """Times steps between two moments at which the device has finished all of its work."""

    def __init__(self, done: int) -> None:
        self._laps: list[tuple[int, float]] = []
        self.restart(done)

    def restart(self, done: int) -> None:
        """Begin to time here: what went before was no step."""
        self._from, self._began = done, time.perf_counter()

    def lap(self, done: int) -> None:
        """Note the steps since the last call, whose results have been read."""
        if done > self._from:
            seconds = time.perf_counter() - self._began
            self._laps.append((done - self._from, seconds / (done - self._from)))
        self.restart(done)

    def note(self, name: str, unit: str) -> None:
        """Keep the median for `measured_paces`, if anything was timed."""
        laps = self._laps[1:] or self._laps
        if laps:
            seconds = statistics.median(pace for _, pace in laps)
            steps = sum(count for count, _ in laps)
            _paces.append({"name": name, "unit": unit, "steps": steps, "seconds_per_step": seconds})


class Training(Protocol):
    """All that changes from step to step."""

    @property
    def done(self) -> int:
        """Steps so far."""

    @property
    def evaluation_due(self) -> bool:
        """Whether the state as it stands is to be evaluated, and hasn't been."""

    def trouble(self) -> str:
        """What has diverged since the last look, for the error; "" if nothing."""

    def evaluate(self) -> bool:
        """Evaluate or record the state; whether to save what came of it at once. Raises Interrupted
        where it gives up because the job is asked to stop."""

    def state(self) -> dict[str, Any]:
        """What `Checkpoint.save` can write and `restore` goes on from to the bit."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""


@dataclass(frozen=True)
class Rhythm:
    """How long a training is, in steps, how often the loop does what, and what it says.

    unit: what a step is called, "batch", and several, "batches"; look: steps between two looks for
    trouble; save, seconds: steps and time between two saves, besides those that evaluations ask
    for; advice: what to change in the config where the training diverges, a sentence.
    """

    steps: int
    unit: tuple[str, str]
    look: int = 1
    save: float = math.inf
    seconds: float = math.inf
    advice: str = ""


class TrainingLoop:
    """Runs a training from its checkpoint, where there is one, to its end.

    checkpoint: a `Checkpoint`, or what loads, saves and has a path as one does; asked: is called
    before every step, and says why to stop, or None.
    """

    def __init__(
        self, training: Training, rhythm: Rhythm, checkpoint: Any, asked: Callable[[], str | None]
    ) -> None:
        self._training, self._rhythm, self._checkpoint = training, rhythm, checkpoint
        self._asked = asked
        self._on_disk: int | None = None  # the step whose state is there
        self._clock = time.monotonic()
        self._changed = False  # since then
        self._pace = _Pace(training.done)

    def restore(self, device: torch.device | str = "cpu") -> bool:
        """Go back to the checkpoint; False where there is none."""
        stored = self._checkpoint.load(device)
        if stored is None:
            return False
        self._training.restore(stored)
        self._on_disk = self._training.done
        logger.info("resuming at %s of %d", self._place(self._on_disk), self._rhythm.steps)
        return True

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Call `step` until the training is finished; `name` stands beside the progress.

        Raises Stopped after saving, and DivergedError before that could replace a good state.
        """
        training, rhythm = self._training, self._rhythm
        self._pace.restart(training.done)
        with Progress(name, rhythm.steps, rhythm.unit[1], done=training.done) as progress:
            while True:
                if training.evaluation_due:
                    self._evaluate()
                if reason := self._asked():
                    self._save()
                    raise Stopped(reason)
                if training.done >= rhythm.steps:
                    break
                before = training.done
                step()
                self._changed = True
                progress.advance(training.done - before)
                if training.done % rhythm.look == 0:
                    self._look()
                overdue = time.monotonic() - self._clock >= rhythm.seconds
                if overdue or training.done % rhythm.save == 0:
                    self._save()
        if self._changed:
            self._save()
        self._pace.note(name, rhythm.unit[0])

    def _evaluate(self) -> None:
        self._look()
        try:
            worth_saving = self._training.evaluate()
        except Interrupted as interruption:
            self._save()
            raise Stopped(str(interruption)) from None
        self._changed = True
        if worth_saving:
            self._save()
        self._pace.restart(self._training.done)

    def _look(self) -> None:
        if wrong := self._training.trouble():
            kept = "it had saved nothing yet"
            if self._on_disk is not None:
                last = f"the last good state, of {self._place(self._on_disk)}"
                kept = f"{last}, is kept in {self._checkpoint.path}"
            raise DivergedError(
                f"{wrong}; {kept}. {self._rhythm.advice} With other settings the training starts "
                "afresh; with these it goes on from what is kept, and diverges again."
            )
        self._pace.lap(self._training.done)

    def _save(self) -> None:
        self._look()
        self._checkpoint.save(self._training.state())
        self._on_disk, self._clock, self._changed = self._training.done, time.monotonic(), False
        self._pace.restart(self._training.done)

    def _place(self, step: int) -> str:
        return f"{self._rhythm.unit[0]} {step}"


EXPLODED = 1e8
"""A mean loss so many times its first mean has diverged, finite as it still is. A critic's squared
error may grow by the square of its horizon, 10,000, and by as much again where it overestimates."""


class DivergedError(InputError):
    """A loss or a weight is no longer a finite number, or the loss has exploded."""


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether no number is NaN or infinite; waits for the device once."""
    found = [tensor.detach().isfinite().all() for tensor in tensors]
    return not found or bool(torch.stack(found).all())


def exploded(mean: float, first: float) -> bool:
    """Whether a mean of losses is more than EXPLODED times the first one; both are positive."""
    return mean > EXPLODED * first > 0
