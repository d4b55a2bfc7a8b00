"""Train a retrieval model on batches of pairs, resumably, and choose its best epoch.

Everything random is a function of the seed and the step, so a resumed run equals an unbroken one.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from triptych.audio.models.retrieval import Draws, RetrievalModel
from triptych.audio.training.batches import Batch, Batches, load
from triptych.audio.training.gradient_cache import backward
from triptych.audio.training.parallel import Group, Interrupted, Stop
from triptych.audio.training.schedule import learning_rate
from triptych.audio.training.settings import TrainingSettings
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import training_precision
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.memory import keep_freed_memory
from triptych.core.progress import Progress
from triptych.core.sampling import keyed_generator
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

POLL = 50
"""Steps between two looks at whether the losses are finite, which make a GPU wait."""

CPU = torch.device("cpu")

Objective = Callable[[Tensor, Tensor, Tensor], Tensor]
"""The loss of a whole batch: embeddings audio and text [N, D], and the pairs' numbers [N]."""


@dataclass(frozen=True)
class Validation:
    """Loss and mAP@10 on the validation split."""

    loss: float
    map_at_10: float


Validate = Callable[[Callable[[], None]], Validation]
"""Validates the model as it is; calls its argument now and then, which may end it by raising."""


@dataclass(frozen=True)
class Trained:
    """The weights of the chosen epoch, and one row an epoch: HISTORY and `chosen` (0 or 1)."""

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


class DivergedError(InputError):
    """The loss is no longer a finite number."""


@dataclass(frozen=True)
class Task:
    """What is trained, on what, towards what.

    draw:     random decisions of one step for the audio side, from a generator
    validate: None where there is nothing to choose by; the last weights are then taken
    """

    model: RetrievalModel
    batches: Batches
    objective: Objective
    draw: Callable[[torch.Generator], Draws]
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
    DivergedError when a loss is not finite (the last checkpoint stays).
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
                run.check_finite()
            if time.monotonic() - run.saved >= 60 * task.settings.checkpoint_minutes:
                run.save()
    run.save()
    return run.trained()


class TrainingRun:
    """The state of a training: all that changes from step to step."""

    def __init__(self, task: Task, group: Group, checkpoint: Checkpoint) -> None:
        self._task, self._group, self._checkpoint = task, group, checkpoint
        self._adam = torch.optim.Adam(
            task.model.parameters(), lr=task.settings.schedule.learning_rate, fused=True
        )
        fp16 = task.settings.precision == "fp16"
        self._scaler = torch.amp.GradScaler(group.device.type, enabled=fp16)
        self.done = 0
        self._losses: list[Tensor] = []
        self._history: list[dict[str, float]] = []
        self._chosen: int | None = None
        self.saved = time.monotonic()
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
        task, settings = self._task, self._task.settings
        rate = self._rate(self.done)
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.zero_grad()
        draws = task.draw(keyed_generator(CPU, "draws", task.seed, self.done))
        tokens = task.model.text.tokenize(batch.captions)
        own = len(batch.captions)
        size = settings.chunk or own
        parts = [slice(first, first + size) for first in range(0, own, size)]

        def encode(part: int) -> tuple[Tensor, Tensor]:
            return self._embed(batch, tokens, parts[part], draws, part)

        def loss(audio: Tensor, text: Tensor) -> Tensor:
            return task.objective(audio, text, batch.chosen)

        value = backward(encode, len(parts), loss, self._group, self._scaler.scale)
        if self._group.size > 1:  # the loss' own parameter has its whole gradient everywhere
            if task.model.temperature.grad is not None:
                task.model.temperature.grad /= self._group.size
            self._group.sum_gradients(task.model.parameters())
        self._scaler.step(self._adam)
        self._scaler.update()
        self._losses.append(value)
        self.done += 1

    def _embed(
        self, batch: Batch, tokens: dict[str, Tensor], part: slice, draws: Draws, number: int
    ) -> tuple[Tensor, Tensor]:
        """Embeddings of a part of a batch; the same dropout each time for the same part."""
        task, device = self._task, self._group.device
        lengths = batch.lengths[part]
        waveforms = batch.waveforms[part, : int(lengths.max())]
        key = ("dropout", task.seed, self.done, self._group.rank, number)
        with training_precision(device, task.settings.precision), _keyed_dropout(device, *key):
            audio = task.model.embed_audio(waveforms.to(device, non_blocking=True), lengths, draws)
            text = task.model.embed_text(
                {name: value[part].to(device) for name, value in tokens.items()}
            )
        return audio, text

    def _rate(self, step: int) -> float:
        epoch = step / self._task.batches.steps_per_epoch
        return learning_rate(epoch, self._task.settings.schedule)

    def check_finite(self) -> None:
        """Raise DivergedError where a loss of this epoch isn't finite."""
        finite = torch.stack(self._losses).isfinite() if self._losses else torch.ones(1)
        if not finite.all():
            wrong = self.done - len(self._losses) + int(finite.int().argmin())
            raise DivergedError(
                f"the loss is not finite at step {wrong} (learning rate {self._rate(wrong):.3g}, "
                f"precision {self._task.settings.precision}). Lower learning_rate, or train in "
                "bf16 or float32."
            )

    def finish_epoch(self, interrupt: Callable[[], None]) -> None:
        """Validate, keep the weights where they are the best so far, write the epoch's row."""
        self.check_finite()
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
            with atomic_path(self._weights(self.epoch)) as temporary:
                save_file(_on_cpu(task.model), temporary)
            self._chosen = self.epoch
        self._history.append(row)
        self._losses = []

    def save(self) -> None:
        """Write the checkpoint; of a finished training only what is asked of it later."""
        self.check_finite()
        self.saved = time.monotonic()
        if self._group.rank:
            return
        state = {
            "done": self.done,
            "losses": self._losses,
            "history": self._history,
            "chosen": self._chosen,
        }
        if self.done < self._task.steps or self.epoch_to_finish:
            state |= {
                "model": self._task.model.state_dict(),
                "adam": self._adam.state_dict(),
                "scaler": self._scaler.state_dict(),
            }
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
        if "model" in state:
            self._task.model.load_state_dict(state["model"])
            self._adam.load_state_dict(state["adam"])
            self._scaler.load_state_dict(state["scaler"])
        logger.info("resuming at step %d of %d", self.done, self._task.steps)

    def trained(self) -> Trained | None:
        if self._group.rank or self._chosen is None:
            return None
        history = pd.DataFrame(self._history, columns=list(HISTORY))
        chosen = (history["epoch"] == self._chosen).astype(int)
        return Trained(load_file(self._weights(self._chosen)), history.assign(chosen=chosen))

    def _weights(self, epoch: int) -> Path:
        return self._checkpoint.path.parent / f"epoch-{epoch:03d}.safetensors"


def _on_cpu(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.contiguous().cpu() for name, value in model.state_dict().items()}


@contextmanager
def _keyed_dropout(device: torch.device, *key: int | str) -> Iterator[None]:
    """Draw what PyTorch draws by itself from `key`; leaves the global random state alone."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(keyed_generator(CPU, *key).initial_seed())
        yield
