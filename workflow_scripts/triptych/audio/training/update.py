"""One update of a retrieval model's weights, in portions that the memory holds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from triptych.audio.models.retrieval import Draws, RetrievalModel
from triptych.audio.training.batches import Batch
from triptych.audio.training.losses import backward
from triptych.audio.training.settings import TrainingSettings
from triptych.core.device import keyed_generator, training_precision
from triptych.core.memory import OomRetry

CPU = torch.device("cpu")

Objective = Callable[[Tensor, Tensor, Tensor], Tensor]
"""The loss of a whole batch: embeddings audio and text [N, D], and the pairs' numbers [N]."""

Draw = Callable[[torch.Generator], Draws]
"""Random decisions of one step for the audio side, from a generator."""

ADVICE = (
    "Lower longest_seconds of the stage, choose smaller models, or take a GPU with more memory; "
    "a bf16 precision halves what a pair takes."
)


class Updates:
    """A model's optimiser, and how many pairs go through the model at a time: `chunk` or the whole
    batch, and less where memory runs out.

    Without dropout a smaller portion makes no difference but for rounding.
    """

    def __init__(
        self,
        model: RetrievalModel,
        objective: Objective,
        draw: Draw,
        settings: TrainingSettings,
        seed: int,
        device: torch.device,
    ) -> None:
        self._model, self._objective, self._draw = model, objective, draw
        self._settings, self._seed, self._device = settings, seed, device
        self._adam = torch.optim.Adam(
            model.parameters(), lr=settings.schedule.learning_rate, fused=True
        )
        fp16 = settings.precision == "fp16"
        self._scaler = torch.amp.GradScaler(device.type, enabled=fp16)
        size = min(settings.chunk or settings.batch, settings.batch)
        self._portion = OomRetry(size, "pairs", ADVICE)

    def step(self, batch: Batch, number: int, rate: float) -> Tensor:
        """Move the weights once, at step `number`; the loss of the batch, a scalar."""
        for group in self._adam.param_groups:
            group["lr"] = rate
        tokens = self._model.text.tokenize(batch.captions)
        value = self._portion.run(lambda size: self._gradients(batch, tokens, number, size))
        self._scaler.step(self._adam)
        self._scaler.update()
        return value

    def _gradients(self, batch: Batch, tokens: dict[str, Tensor], number: int, size: int) -> Tensor:
        self._adam.zero_grad()
        draws = self._draw(keyed_generator(CPU, "draws", self._seed, number))
        count = len(batch.captions)
        parts = [slice(first, first + size) for first in range(0, count, size)]

        def encode(part: int) -> tuple[Tensor, Tensor]:
            key = ("dropout", self._seed, number, part)
            return self._embed(batch, tokens, parts[part], draws, key)

        def loss(audio: Tensor, text: Tensor) -> Tensor:
            return self._objective(audio, text, batch.chosen)

        return backward(encode, len(parts), loss, self._scaler.scale)

    def _embed(
        self,
        batch: Batch,
        tokens: dict[str, Tensor],
        part: slice,
        draws: Draws,
        key: tuple[int | str, ...],
    ) -> tuple[Tensor, Tensor]:
        """Embeddings of a part of a batch; the same dropout each time for the same key."""
        device, precision = self._device, self._settings.precision
        lengths = batch.lengths[part]
        recordings = batch.recordings[part, : int(lengths.max())]
        with training_precision(device, precision), _keyed_dropout(device, *key):
            audio = self._model.embed_audio(
                recordings.to(device, non_blocking=True), lengths, draws
            )
            text = self._model.embed_text(
                {name: value[part].to(device) for name, value in tokens.items()}
            )
        return audio, text

    def state(self) -> dict[str, Any]:
        """Weights, moments, scale of the loss, and how much is worked at a time."""
        return {
            "model": self._model.state_dict(),
            "adam": self._adam.state_dict(),
            "scaler": self._scaler.state_dict(),
            "portion": self._portion.size,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self._model.load_state_dict(state["model"])
        self._adam.load_state_dict(state["adam"])
        self._scaler.load_state_dict(state["scaler"])
        self._portion.size = state["portion"]


@contextmanager
def _keyed_dropout(device: torch.device, *key: int | str) -> Iterator[None]:
    """Draw what PyTorch draws by itself from `key`; leaves the global random state alone."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(keyed_generator(CPU, *key).initial_seed())
        yield
