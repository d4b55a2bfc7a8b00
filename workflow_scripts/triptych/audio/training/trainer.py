"""Train a retrieval model on batches of pairs, resumably, and choose its best epoch.

Everything random is a function of the seed and the step, so a resumed run equals an unbroken one.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from safetensors.torch import load_file
from torch import Tensor

from triptych.audio.models.model_files import save_weights
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.training.batches import Batch, Batches, load
from triptych.audio.training.parallel import Group, Interrupted, Stop
from triptych.audio.training.schedule import learning_rate
from triptych.audio.training.settings import TrainingSettings
from triptych.audio.training.update import Draw, Objective, Updates
from triptych.core.checkpoint import Checkpoint
from triptych.core.divergence import diverged, exploded
from triptych.core.memory import keep_freed_memory
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped

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
    """The chosen epoch's weights, the file in the checkpoint that holds them, and one row an
    epoch: HISTORY and `chosen` (0 or 1)."""

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
    """What is trained, on what, towards what.

    validate: None where there is nothing to choose by; the last weights are then taken
    """

    model: RetrievalModel
    batches: Batches
    objective: Objective
    draw: Draw
    validate: Validate | None
    settings: TrainingSettings
    seed: int

    @property
    def steps(self) -> int:
        return self.settings.schedule.epochs * self.batches.steps_per_epoch


def train(
    task: Task, name: str, group: Group, checkpoint: Checkpoint, stop: Stop
) -> Trained | None:
    """Train with Adam from the model as it is, or go on from `checkpoint` where there is one.

    A training that is finished is read from there. `name` stands beside the progress. Of several
    processes the first validates and saves. Raises `Stopped` after saving when `stop` asks,
    DivergedError when a loss or a weight is not finite or the loss explodes (the last checkpoint
    stays).
    """
    if group.device.type == "cpu":
        keep_freed_memory()
    run = TrainingRun(task, group, checkpoint)
    run.restore()

    def interrupt() -> None:
        if stop.reason:
            raise Interrupted

    pin = group.device.type == "cuda"
    source = load(task.batches, range(run.done, task.steps), task.settings.workers, pin)
    with Progress(name, task.steps, "steps", done=run.done) as progress:
        while True:
            if run.epoch_to_finish:
                try:
                    run.finish_epoch(interrupt)
                except Interrupted:
                    logger.info("validation after epoch %d is put off", run.epoch)
            if group.any(stop.reason is not None):
                run.save()
                raise Stopped(stop.reason or "another process")
            if run.done == task.steps:
                break
            run.step(next(source))
            progress.advance()
            if run.done % POLL == 0:
                run.check()
            if time.monotonic() - run.saved >= 60 * task.settings.checkpoint_minutes:
                run.save()
    run.save()
    return run.trained()


class TrainingRun:
    """The state of a training: all that changes from step to step."""

    def __init__(self, task: Task, group: Group, checkpoint: Checkpoint) -> None:
        self._task, self._group, self._checkpoint = task, group, checkpoint
        self._updates = Updates(
            task.model, task.objective, task.draw, task.settings, task.seed, group
        )
        self.done = 0
        self._losses: list[Tensor] = []
        self._history: list[dict[str, float]] = []
        self._chosen: int | None = None
        self.saved = time.monotonic()
        self._saved_step: int | None = None
        task.model.train()

    @property
    def epoch(self) -> int:
        """How many epochs are over."""
        return self.done // self._task.batches.steps_per_epoch

    @property
    def epoch_to_finish(self) -> bool:
        """Whether an epoch is over that has no row in the history yet."""
        return self.epoch > len(self._history)

    def step(self, batch: Batch) -> None:
        """Update the weights once."""
        self._losses.append(self._updates.step(batch, self.done, self._rate(self.done)))
        self.done += 1

    def _rate(self, step: int) -> float:
        epoch = step / self._task.batches.steps_per_epoch
        return learning_rate(epoch, self._task.settings.schedule)

    def check(self) -> None:
        """Raise DivergedError where a loss of this epoch or a weight isn't good."""
        losses = torch.stack(self._losses) if self._losses else torch.zeros(1)
        finite, first = losses.isfinite(), self.done - len(self._losses)
        if not finite.all():
            wrong = first + int(finite.int().argmin())
            what = f"the loss is not finite at step {wrong}"
        elif not self._updates.finite():
            wrong = self.done - 1
            what = f"weights are not finite after step {wrong}"
        elif self._history and exploded(float(losses.mean()), self._history[0]["train_loss"]):
            wrong = self.done - 1
            what = f"the mean loss since step {first} is {float(losses.mean()):.3g}, far above "
            what += f"the first epoch's {self._history[0]['train_loss']:.3g},"
        else:
            return
        saved = None if self._saved_step is None else f"step {self._saved_step}"
        raise diverged(
            f"{what} (learning rate {self._rate(wrong):.3g}, "
            f"precision {self._task.settings.precision})",
            saved,
            self._checkpoint,
            "Lower learning_rate of the stage in the config, or train in bf16 or float32.",
        )

    def finish_epoch(self, interrupt: Callable[[], None]) -> None:
        """Validate, keep the weights where they are the best so far, write the epoch's row."""
        self.check()
        task = self._task
        row: dict[str, float] = {"epoch": self.epoch, "step": self.done}
        row["train_loss"] = float(torch.stack(self._losses).mean())
        if task.validate is None:
            chosen = self.done == task.steps
        elif self._group.rank == 0:
            validation = task.validate(interrupt)
            task.model.train()
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
        else:
            chosen = False
        row["learning_rate"] = self._rate(self.done - 1)
        if chosen and self._group.rank == 0:
            save_weights(task.model, self._weights(self.epoch))
            self._chosen = self.epoch
        self._history.append(row)
        self._losses = []

    def save(self) -> None:
        """Write the checkpoint; of a finished training only what is asked of it later."""
        self.check()
        self.saved, self._saved_step = time.monotonic(), self.done
        if self._group.rank:
            return
        state = {
            "done": self.done,
            "losses": self._losses,
            "history": self._history,
            "chosen": self._chosen,
        }
        if self.done < self._task.steps or self.epoch_to_finish:
            state |= self._updates.state()
        self._checkpoint.save(state)
        for file in self._checkpoint.path.parent.glob("epoch-*.safetensors"):
            if self._chosen is None or file != self._weights(self._chosen):
                file.unlink()

    def restore(self) -> None:
        state = self._checkpoint.load(self._group.device)
        if state is None:
            return
        chosen = state["chosen"]
        if chosen is not None and not self._weights(chosen).exists():
            logger.warning("%s is gone: starting afresh", self._weights(chosen))
            return
        self.done, self._losses = state["done"], state["losses"]
        self._history, self._chosen = state["history"], chosen
        self._saved_step = self.done
        if "model" in state:
            self._updates.restore(state)
        logger.info("resuming at step %d of %d", self.done, self._task.steps)

    def trained(self) -> Trained | None:
        if self._group.rank or self._chosen is None:
            return None
        history = pd.DataFrame(self._history, columns=list(HISTORY))
        chosen = (history["epoch"] == self._chosen).astype(int)
        file = self._weights(self._chosen)
        return Trained(load_file(file), file, history.assign(chosen=chosen))

    def _weights(self, epoch: int) -> Path:
        return self._checkpoint.path.parent / f"epoch-{epoch:03d}.safetensors"
