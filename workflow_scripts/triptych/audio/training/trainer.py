"""Train a retrieval model on batches of pairs, resumably, and choose its best epoch.

Everything random is a function of the seed and the step, so a resumed run equals an unbroken one.
A batch goes through the model in portions that the memory holds.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.audio.embedding import embed_split
from triptych.audio.embedding_files import Split
from triptych.audio.models.retrieval import Augmentation, RetrievalModel, draw_augmentation
from triptych.audio.scoring.metrics import columns_of, mean_average_precision, similarities
from triptych.audio.training.batches import Batch, Batches, load
from triptych.audio.training.corpus import Queries
from triptych.audio.training.curves import show_curves
from triptych.audio.training.losses import backward, nt_xent, same_audio
from triptych.audio.training.settings import TrainingSettings
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import keyed_generator, training_precision
from triptych.core.memory import OomRetry, keep_freed_memory
from triptych.core.stopping import Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop, all_finite, exploded

logger = logging.getLogger(__name__)

CPU = torch.device("cpu")
POLL = 50
"""Steps between two looks at whether losses and weights are good, which make a GPU wait."""
ADVICE = (
    "Lower longest_seconds of the stage, choose smaller models, or take a GPU with more memory; "
    "a bf16 precision halves what a pair takes."
)
HISTORY = (
    "epoch",
    "step",
    "train_loss",
    "validation_loss",
    "validation_map_at_10",
    "learning_rate",
)


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


@dataclass(frozen=True)
class Task:
    """A model, its batches and its objective.

    targets: which pairs of a batch match, each its own (report) or all of one clip (its code);
    validation: the split that judges the model, None to take the last weights; shown: a file,
    without suffix, for the curves after each epoch.
    """

    model: RetrievalModel
    batches: Batches
    settings: TrainingSettings
    seed: int
    targets: Literal["identity", "same_audio"] = "identity"
    validation: Queries | None = None
    shown: Path | None = None

    @property
    def steps(self) -> int:
        return self.settings.schedule.epochs * self.batches.steps_per_epoch

    @cached_property
    def _clips(self) -> Tensor:
        """A number for the clip of each pair."""
        clips = [pair.clip for pair in self.batches.pairs]
        return torch.from_numpy(np.unique(clips, return_inverse=True)[1])

    def loss(self, audio: Tensor, text: Tensor, chosen: Tensor) -> Tensor:
        """NT-Xent of a whole batch: embeddings [N, D], and the pairs' numbers [N]."""
        positives = None
        if self.targets == "same_audio":
            positives = same_audio(self._clips[chosen]).to(audio.device)
        return nt_xent(audio, text, self.model.temperature, positives)

    def draw(self, generator: torch.Generator) -> Augmentation:
        """Random decisions of one step for the audio side."""
        return draw_augmentation(self.model.settings, self.settings, generator)

    def validate(self, device: torch.device) -> Validation | None:
        """Judge the model as it is."""
        if self.validation is None:
            return None
        split = embed_split(
            self.model,
            self.validation,
            self.batches.store,
            device,
            self.settings.longest_seconds,
            self.settings.precision,
        )
        return validation_scores(split, self.model.temperature, self.settings.batch)


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
    """The state of a training: all that changes from step to step.

    `chunk` pairs or the whole batch go through the model at a time, and less where memory runs out.
    Without dropout a smaller portion makes no difference but for rounding.
    """

    def __init__(self, task: Task, device: torch.device) -> None:
        settings = task.settings
        self._task, self._model, self._device = task, task.model, device
        self._adam = torch.optim.Adam(
            task.model.parameters(), lr=settings.schedule.learning_rate, fused=True
        )
        fp16 = settings.precision == "fp16"
        self._scaler = torch.amp.GradScaler(device.type, enabled=fp16)
        size = min(settings.chunk or settings.batch, settings.batch)
        self._portion = OomRetry(size, "pairs", ADVICE)
        self.done = 0
        self._losses: list[Tensor] = []
        self._history: list[dict[str, float]] = []
        self._chosen = 0  # epoch
        self._weights: dict[str, Tensor] = {}  # of the chosen epoch
        task.model.train()

    @property
    def epoch(self) -> int:
        return self.done // self._task.batches.steps_per_epoch

    @property
    def evaluation_due(self) -> bool:
        """Whether an epoch is over that has no row in the history yet."""
        return self.epoch > len(self._history)

    def step(self, batch: Batch) -> Tensor:
        """Update the weights once; the loss of the batch, a scalar."""
        for group in self._adam.param_groups:
            group["lr"] = self._rate(self.done)
        tokens = self._model.text.tokenize(batch.captions)
        loss = self._portion.run(lambda size: self._gradients(batch, tokens, size))
        self._scaler.step(self._adam)
        self._scaler.update()
        self._losses.append(loss)
        self.done += 1
        return loss

    def _rate(self, step: int) -> float:
        epoch = step / self._task.batches.steps_per_epoch
        return self._task.settings.schedule.rate(epoch)

    def _gradients(self, batch: Batch, tokens: dict[str, Tensor], size: int) -> Tensor:
        self._adam.zero_grad()
        draws = self._task.draw(keyed_generator(CPU, "draws", self._task.seed, self.done))
        count = len(batch.captions)
        parts = [slice(first, first + size) for first in range(0, count, size)]

        def encode(part: int) -> tuple[Tensor, Tensor]:
            """Embeddings of a part of the batch, each time with the same dropout."""
            device, rows = self._device, parts[part]
            key = ("dropout", self._task.seed, self.done, part)
            lengths = batch.lengths[rows]
            recordings = batch.recordings[rows, : int(lengths.max())]
            words = {name: value[rows].to(device) for name, value in tokens.items()}
            precision = self._task.settings.precision
            with training_precision(device, precision), _keyed_dropout(device, *key):
                recordings = recordings.to(device, non_blocking=True)
                audio = self._model.embed_audio(recordings, lengths, draws)
                return audio, self._model.embed_text(words)

        def loss(audio: Tensor, text: Tensor) -> Tensor:
            return self._task.loss(audio, text, batch.chosen)

        return backward(encode, len(parts), loss, self._scaler.scale)

    def check_divergence(self) -> str:
        """The problem with the losses of this epoch or with the weights, or ""."""
        losses = torch.stack(self._losses) if self._losses else torch.zeros(1)
        finite, first, step = losses.isfinite(), self.done - len(self._losses), self.done - 1
        mean, usual = float(losses.mean()), self._history[0]["train_loss"] if self._history else 0.0
        if not finite.all():
            step = first + int(finite.int().argmin())
            what = f"the loss is not finite at step {step}"
        elif not all_finite(self._model.parameters()):
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
        validation = self._task.validate(self._device)
        self._model.train()
        row: dict[str, float] = {"epoch": self.epoch, "step": self.done}
        row["train_loss"] = float(torch.stack(self._losses).mean())
        chosen = validation is None and self.done == self._task.steps
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
                for name, weight in self._model.state_dict().items()
            }
        self._history.append(row)
        self._losses = []
        if self._task.shown is not None:
            show_curves(pd.DataFrame(self._history, columns=list(HISTORY)), self._task.shown)
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
        if self.done == self._task.steps and not self.evaluation_due:
            return state
        return state | {
            "model": self._model.state_dict(),
            "adam": self._adam.state_dict(),
            "scaler": self._scaler.state_dict(),
            "portion": self._portion.size,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.done, self._losses = state["done"], state["losses"]
        self._history, self._chosen = state["history"], state["chosen"]
        self._weights = {name: weight.cpu() for name, weight in state["weights"].items()}
        if "model" in state:
            self._model.load_state_dict(state["model"])
            self._adam.load_state_dict(state["adam"])
            self._scaler.load_state_dict(state["scaler"])
            self._portion.size = state["portion"]

    def trained(self) -> Trained:
        history = pd.DataFrame(self._history, columns=list(HISTORY))
        chosen = (history["epoch"] == self._chosen).astype(int)
        return Trained(self._weights, history.assign(chosen=chosen))


@contextmanager
def _keyed_dropout(device: torch.device, *key: int | str) -> Iterator[None]:
    """Draw what PyTorch draws by itself from `key`; leaves the global random state alone."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(keyed_generator(CPU, *key).initial_seed())
        yield


def validation_scores(split: Split, temperature: Tensor, batch: int) -> Validation:
    """mAP@10 as published, and the loss of batches like those of the training.

    Each holds `batch` clips in their order, with the first caption of each, then with the second,
    and so on; the incomplete batch at the end is left out unless it is the only one.
    """
    columns = columns_of(split.query_clips.tolist(), split.clips.tolist())
    map_at_10 = mean_average_precision(similarities(split.text, split.audio), columns)
    audio, text = torch.from_numpy(split.audio), torch.from_numpy(split.text)
    losses = [
        nt_xent(audio[columns[rows]], text[rows], temperature.detach().cpu())
        for rows in _loss_batches(columns, batch)
    ]
    return Validation(float(torch.stack(losses).mean()), map_at_10)


def _loss_batches(columns: NDArray[np.int64], batch: int) -> list[NDArray[np.int64]]:
    """Queries, by their numbers, in batches of distinct clips; columns: the clip of each query."""
    order = np.argsort(columns, kind="stable")
    number = pd.Series(columns[order]).groupby(columns[order]).cumcount().to_numpy()
    rounds = [order[number == n] for n in range(int(number.max()) + 1)]
    return [
        rows
        for queries in rounds
        for rows in np.split(queries, range(batch, len(queries), batch))
        if len(rows) == min(batch, len(queries))
    ]
