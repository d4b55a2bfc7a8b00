"""Train a retrieval model on batches of pairs, resumably, and choose its best epoch.

Everything random is a function of the seed and the step, so a resumed run equals an unbroken one.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from safetensors.torch import load_file
from torch import Tensor

from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.training.batches import Batch, Batches, load
from triptych.audio.training.settings import TrainingSettings
from triptych.audio.training.update import Draw, Objective, Updates
from triptych.core.checkpoint import Checkpoint
from triptych.core.memory import keep_freed_memory
from triptych.core.stopping import Interrupted, Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop, exploded
from triptych.core.weights import save_weights

logger = logging.getLogger(__name__)

POLL = 50
"""Steps between two looks at whether losses and weights are good, which make a GPU wait."""


@dataclass(frozen=True)
class Validation:
    """Loss and mAP@10 on the validation split."""

    loss: float
    map_at_10: float


Validate = Callable[[Callable[[], None]], Validation]
"""Validates the model as it is; calls its argument now and then, which may end it by raising."""


@dataclass(frozen=True)
class Trained:
    """The result of a training.

    weights: of the chosen epoch; file: the file of the checkpoint that holds them; history: one row
    an epoch, HISTORY and `chosen` (0 or 1).
    """

    weights: dict[str, Tensor]
    file: Path
    history: pd.DataFrame


HISTORY = (
    "epoch",
    "step",
    "train_loss",
    "validation_loss",
    "validation_map_at_10",
    "learning_rate",
)


@dataclass(frozen=True)
class Task:
    """A model, its batches and its objective.

    validate: None to take the last weights; show: called with the history after each epoch
    """

    model: RetrievalModel
    batches: Batches
    objective: Objective
    draw: Draw
    validate: Validate | None
    settings: TrainingSettings
    seed: int
    show: Callable[[pd.DataFrame], None] = lambda history: None

    @property
    def steps(self) -> int:
        """Steps in all epochs."""
        return self.settings.schedule.epochs * self.batches.steps_per_epoch


def train(
    task: Task, name: str, device: torch.device, checkpoint: Checkpoint, stop: Stop
) -> Trained:
    """Train with Adam from the model as it is, or go on from `checkpoint` where there is one.

    `name` stands beside the progress. Raises `Stopped` after saving when `stop` asks, DivergedError
    when a loss or a weight is not finite or the loss explodes (the last checkpoint stays).
    """
    if device.type == "cpu":
        keep_freed_memory()
    run = TrainingRun(task, device, checkpoint, stop)
    loop_settings = LoopSettings(
        task.steps,
        ("step", "steps"),
        POLL,
        save_seconds=60 * task.settings.checkpoint_minutes,
        advice="Lower learning_rate of the stage in the config, or train in bf16 or float32.",
    )
    loop = TrainingLoop(run, loop_settings, _EpochCheckpoint(checkpoint), lambda: stop.reason)
    loop.restore(device)
    pin = device.type == "cuda"
    source = load(task.batches, range(run.done, task.steps), task.settings.workers, pin)
    loop.run(name, lambda: run.step(next(source)))
    return run.trained()


class _EpochCheckpoint:
    """A checkpoint beside which the chosen epoch's weights lie."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint, self.path = checkpoint, checkpoint.path

    def load(self, device: torch.device | str = "cpu") -> dict[str, Any] | None:
        return self._checkpoint.load(device)

    def save(self, state: dict[str, Any]) -> None:
        """Write the state, then delete the weights that it doesn't name."""
        self._checkpoint.save(state)
        for file in self.path.parent.glob("epoch-*.safetensors"):
            if state["chosen"] is None or file != _weights(self.path, state["chosen"]):
                file.unlink()


def _weights(checkpoint: Path, epoch: int) -> Path:
    return checkpoint.parent / f"epoch-{epoch:03d}.safetensors"


class TrainingRun:
    """The state of a training: all that changes from step to step."""

    def __init__(
        self, task: Task, device: torch.device, checkpoint: Checkpoint, stop: Stop | None = None
    ) -> None:
        self._task, self._checkpoint, self._stop = task, checkpoint, stop
        self._updates = Updates(
            task.model, task.objective, task.draw, task.settings, task.seed, device
        )
        self.done = 0
        self._losses: list[Tensor] = []
        self._history: list[dict[str, float]] = []
        self._chosen: int | None = None
        task.model.train()

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return self.done // self._task.batches.steps_per_epoch

    @property
    def evaluation_due(self) -> bool:
        """Whether an epoch is over that has no row in the history yet."""
        return self.epoch > len(self._history)

    def step(self, batch: Batch) -> None:
        """Update the weights once."""
        self._losses.append(self._updates.step(batch, self.done, self._rate(self.done)))
        self.done += 1

    def _rate(self, step: int) -> float:
        epoch = step / self._task.batches.steps_per_epoch
        return self._task.settings.schedule.rate(epoch)

    def check_divergence(self) -> str:
        """The problem with the losses of this epoch or with the weights, or ""."""
        losses = torch.stack(self._losses) if self._losses else torch.zeros(1)
        finite, first, step = losses.isfinite(), self.done - len(self._losses), self.done - 1
        mean, usual = float(losses.mean()), self._history[0]["train_loss"] if self._history else 0.0
        if not finite.all():
            step = first + int(finite.int().argmin())
            what = f"the loss is not finite at step {step}"
        elif not self._updates.finite():
            what = f"weights are not finite after step {step}"
        elif exploded(mean, usual):
            what = f"the mean loss since step {first} is {mean:.3g}, far above "
            what += f"the first epoch's {usual:.3g},"
        else:
            return ""
        precision = self._task.settings.precision
        return f"{what} (learning rate {self._rate(step):.3g}, precision {precision})"

    def evaluate(self) -> bool:
        """Validate, keep the weights where they are the best so far, write the epoch's row."""
        task, validation = self._task, None
        if task.validate:
            try:
                validation = task.validate(self._interrupt)
            finally:
                task.model.train()
        row: dict[str, float] = {"epoch": self.epoch, "step": self.done}
        row["train_loss"] = float(torch.stack(self._losses).mean())
        chosen = task.validate is None and self.done == task.steps
        if validation:
            best = max((row["validation_map_at_10"] for row in self._history), default=-1.0)
            chosen = validation.map_at_10 > best
            row["validation_loss"] = validation.loss
            row["validation_map_at_10"] = validation.map_at_10
            logger.info(
                "epoch %d: training loss %.3f, validation loss %.3f, mAP@10 %.4f",
                self.epoch,
                row["train_loss"],
                validation.loss,
                validation.map_at_10,
            )
        row["learning_rate"] = self._rate(self.done - 1)
        if chosen:
            save_weights(task.model, _weights(self._checkpoint.path, self.epoch))
            self._chosen = self.epoch
        self._history.append(row)
        self._losses = []
        task.show(pd.DataFrame(self._history, columns=list(HISTORY)))
        return False

    def _interrupt(self) -> None:
        if self._stop and self._stop.reason:
            raise Interrupted(self._stop.reason)

    def state(self) -> dict[str, Any]:
        """The state to save; of a finished training only its history and choice."""
        state = {
            "done": self.done,
            "losses": self._losses,
            "history": self._history,
            "chosen": self._chosen,
        }
        over = self.done == self._task.steps and not self.evaluation_due
        return state if over else state | self._updates.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state; of a finished training there are no weights in it."""
        self.done, self._losses = state["done"], state["losses"]
        self._history, self._chosen = state["history"], state["chosen"]
        if "model" in state:
            self._updates.restore(state)

    def trained(self) -> Trained:
        """The result of a finished training."""
        assert self._chosen is not None  # the first epoch's weights are, until better ones come
        history = pd.DataFrame(self._history, columns=list(HISTORY))
        chosen = (history["epoch"] == self._chosen).astype(int)
        file = _weights(self._checkpoint.path, self._chosen)
        return Trained(load_file(file), file, history.assign(chosen=chosen))
