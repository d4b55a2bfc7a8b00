"""Train a retrieval model on batches of pairs, resumably, and choose its best epoch.

Everything random is a function of the seed and the step, so a resumed run equals an unbroken one.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.training.batches import Batch, Batches, load
from triptych.audio.training.settings import TrainingSettings
from triptych.audio.training.update import Draw, Objective, Updates
from triptych.core.checkpoint import Checkpoint
from triptych.core.memory import keep_freed_memory
from triptych.core.stopping import Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop, all_finite, exploded

logger = logging.getLogger(__name__)

POLL = 50
"""Steps between two looks at whether losses and weights are good, which make a GPU wait."""


@dataclass(frozen=True)
class Validation:
    """Loss and mAP@10 on the validation split."""

    loss: float
    map_at_10: float


@dataclass(frozen=True)
class Trained:
    """The result of a training.

    weights: of the chosen epoch, on the CPU; history: one row an epoch, HISTORY and `chosen` (0 or
    1).
    """

    weights: dict[str, Tensor]
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

    validate: judges the model as it is; None to take the last weights; show: called with the
    history after each epoch
    """

    model: RetrievalModel
    batches: Batches
    objective: Objective
    draw: Draw
    validate: Callable[[], Validation] | None
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
    run = TrainingRun(task, device)
    loop_settings = LoopSettings(
        task.steps,
        ("step", "steps"),
        POLL,
        save_seconds=60 * task.settings.checkpoint_minutes,
        advice="Lower learning_rate of the stage in the config, or train in bf16 or float32.",
    )
    loop = TrainingLoop(run, loop_settings, checkpoint, lambda: stop.reason)
    loop.restore(device)
    pin = device.type == "cuda"
    source = load(task.batches, range(run.done, task.steps), task.settings.workers, pin)
    loop.run(name, lambda: run.step(next(source)))
    return run.trained()


class TrainingRun:
    """The state of a training: all that changes from step to step."""

    def __init__(self, task: Task, device: torch.device) -> None:
        self._task = task
        self._updates = Updates(
            task.model, task.objective, task.draw, task.settings, task.seed, device
        )
        self.done = 0
        self._losses: list[Tensor] = []
        self._history: list[dict[str, float]] = []
        self._chosen = 0  # epoch
        self._weights: dict[str, Tensor] = {}  # of the chosen epoch
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
        elif not all_finite(self._task.model.parameters()):
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
            validation = task.validate()
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
            self._chosen = self.epoch
            self._weights = {
                name: weight.detach().to("cpu", copy=True)
                for name, weight in task.model.state_dict().items()
            }
        self._history.append(row)
        self._losses = []
        task.show(pd.DataFrame(self._history, columns=list(HISTORY)))
        return False

    def state(self) -> dict[str, Any]:
        """The state to save; of a finished training only its history and chosen weights."""
        state = {
            "done": self.done,
            "losses": self._losses,
            "history": self._history,
            "chosen": self._chosen,
            "weights": self._weights,
        }
        over = self.done == self._task.steps and not self.evaluation_due
        return state if over else state | self._updates.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.done, self._losses = state["done"], state["losses"]
        self._history, self._chosen = state["history"], state["chosen"]
        self._weights = {name: weight.cpu() for name, weight in state["weights"].items()}
        if "model" in state:
            self._updates.restore(state)

    def trained(self) -> Trained:
        """The result of a finished training."""
        history = pd.DataFrame(self._history, columns=list(HISTORY))
        chosen = (history["epoch"] == self._chosen).astype(int)
        return Trained(self._weights, history.assign(chosen=chosen))
