"""The loop of every training: step, check for divergence, save, evaluate, stop on request.

Reading losses or weights makes a GPU wait, so they are checked at intervals, and always before a
state is saved: a diverged state never replaces a good one.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from triptych.core.errors import InputError
from triptych.core.progress import Pace, Progress
from triptych.core.stopping import Interrupted, Stopped

logger = logging.getLogger(__name__)


class Training(Protocol):
    """State of a training."""

    @property
    def done(self) -> int:
        """Steps so far."""

    @property
    def evaluation_due(self) -> bool:
        """Whether the present state must be evaluated, and has not been."""

    def check_divergence(self) -> str:
        """Describe what has diverged since the last check, for the error; "" if nothing has."""

    def evaluate(self) -> bool:
        """Evaluate or record the state; return whether to save the result at once. Raises
        Interrupted if the job is asked to stop meanwhile."""

    def state(self) -> dict[str, Any]:
        """Everything that `restore` needs to continue bit by bit, in types that
        `Checkpoint.save` can write."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""


@dataclass(frozen=True)
class LoopSettings:
    """Number of steps, intervals of checks and saves, and messages.

    unit: name of one step and of several, ("batch", "batches"); check_every: steps between two
    checks for divergence; save_every, save_seconds: steps and seconds between two saves, besides
    those that evaluations ask for; advice: what to change in the config when the training diverges,
    a sentence; work: what so many steps cost together, for the time that is left.
    """

    steps: int
    unit: tuple[str, str]
    check_every: int = 1
    save_every: float = math.inf
    save_seconds: float = math.inf
    advice: str = ""
    work: Callable[[int], float] = float


class TrainingLoop:
    """Runs a training from its checkpoint, if there is one, to its end.

    checkpoint: a `Checkpoint`, or an object with its `load`, `save` and `path`; stop_reason: called
    before every step, returns why to stop, or None.
    """

    def __init__(
        self,
        training: Training,
        settings: LoopSettings,
        checkpoint: Any,
        stop_reason: Callable[[], str | None],
    ) -> None:
        self._training, self._settings, self._checkpoint = training, settings, checkpoint
        self._stop_reason = stop_reason
        self._saved_step: int | None = None
        self._saved_at = time.monotonic()
        self._unsaved = False
        self._pace = Pace(training.done)

    def restore(self, device: torch.device | str = "cpu") -> bool:
        """Load the checkpoint; return False if there is none."""
        state = self._checkpoint.load(device)
        if state is None:
            return False
        self._training.restore(state)
        self._saved_step = self._training.done
        place = self._place(self._saved_step)
        logger.info("resuming at %s of %d", place, self._settings.steps)
        return True

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Call `step` until the training is finished; `name` labels the progress. A step raises
        Interrupted, before it changes anything, if the job is asked to stop meanwhile.

        Raises Stopped after saving, and DivergedError before a diverged state is saved.
        """
        training, settings = self._training, self._settings
        self._pace.restart(training.done)
        steps, unit = settings.steps, settings.unit[1]
        with Progress(name, steps, unit, done=training.done, work=settings.work) as progress:
            while True:
                if training.evaluation_due:
                    self._evaluate()
                if reason := self._stop_reason():
                    self._save()
                    raise Stopped(reason)
                if training.done >= settings.steps:
                    break
                before = training.done
                try:
                    step()
                except Interrupted as interruption:
                    self._save()
                    raise Stopped(str(interruption)) from None
                self._unsaved = True
                progress.advance(training.done - before)
                if training.done % settings.check_every == 0:
                    self._check()
                overdue = time.monotonic() - self._saved_at >= settings.save_seconds
                if overdue or training.done % settings.save_every == 0:
                    self._save()
        if self._unsaved:
            self._save()
        self._pace.note(name, settings.unit[0])

    def _evaluate(self) -> None:
        self._check()
        try:
            worth_saving = self._training.evaluate()
        except Interrupted as interruption:
            self._save()
            raise Stopped(str(interruption)) from None
        self._unsaved = True
        if worth_saving:
            self._save()
        self._pace.restart(self._training.done)

    def _check(self) -> None:
        if diverged := self._training.check_divergence():
            last = "nothing had been saved"
            if self._saved_step is not None:
                place = self._place(self._saved_step)
                last = f"the last good state, of {place}, is kept in {self._checkpoint.path}"
            raise DivergedError(
                f"{diverged}; {last}. {self._settings.advice} With other settings the training "
                "starts from zero; with these it resumes from the last state and diverges again."
            )
        self._pace.lap(self._training.done)

    def _save(self) -> None:
        self._check()
        self._checkpoint.save(self._training.state())
        self._saved_step, self._unsaved = self._training.done, False
        self._saved_at = time.monotonic()
        self._pace.restart(self._training.done)

    def _place(self, step: int) -> str:
        return f"{self._settings.unit[0]} {step}"


EXPLODED = 1e8
"""A loss that exceeds its first mean by this factor has diverged. A critic's squared error may grow
by the square of its horizon, 10,000, and by as much again where it overestimates."""


class DivergedError(InputError):
    """A loss or a weight is no longer a finite number, or the loss has exploded."""


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether no number is NaN or infinite; waits for the device once."""
    finite = [tensor.detach().isfinite().all() for tensor in tensors]
    return not finite or bool(torch.stack(finite).all())


def exploded(mean: float, first: float) -> bool:
    """Whether a mean loss is more than EXPLODED times the first one; both are positive."""
    return mean > EXPLODED * first > 0
