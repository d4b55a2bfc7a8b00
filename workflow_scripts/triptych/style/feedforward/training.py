"""Train a transformation network for one painting, resumably.

Nothing is drawn from a running stream: a batch's images, crops, flips and noise are functions of
the seed and the batch's number, so a resumed run sees what an unbroken one would have seen.
"""

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import training_precision
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.memory import keep_freed_memory
from triptych.core.progress import Progress
from triptych.core.sampling import keyed_generator
from triptych.core.stopping import Stopped
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import TERMS, PerceptualLoss
from triptych.style.feedforward.training_data import Crops, Prefetched, TrainingSettings, load_batch

logger = logging.getLogger(__name__)

POLL = 10
"""Batches between two looks at whether the losses are finite, which make a GPU wait."""

WARM_UP = 0.25
"""Share of a one-cycle schedule in which the learning rate rises."""

COLOURS_FROM = 64
"""Photographs, at least, that the colours at the start are fitted on."""

CPU = torch.device("cpu")


class Stop(Protocol):
    """Something that may ask to stop, such as `triptych.core.stopping.StopRequest`."""

    @property
    def reason(self) -> str | None: ...


@dataclass(frozen=True)
class Kept:
    """What a checkpoint leaves: weights, and a training image beside its stylised version.

    sample: uint8 [3, S, 2S]
    """

    weights: dict[str, Tensor]
    sample: Tensor


@dataclass(frozen=True)
class Trained:
    """Checkpoints by their number of batches, and the losses (weighted means, one row a log)."""

    checkpoints: dict[int, Kept]
    losses: pd.DataFrame


class DivergedError(InputError):
    """The loss is no longer a finite number."""


def train(
    architecture: Architecture,
    loss: PerceptualLoss,
    crops: Crops,
    settings: TrainingSettings,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: Stop,
) -> Trained:
    """Train a network with Adam (Johnson et al. 2016), from `checkpoint` where there is one.

    Raises `Stopped` after saving when `stop` asks, DivergedError when a loss is not finite (the
    last checkpoint stays), InputError for fewer crops than a batch holds.
    """
    if len(crops.training) < settings.batch:
        raise InputError(
            f"{len(crops.training)} crops are fewer than one batch of {settings.batch}; "
            "give more photographs, or lower the batch"
        )
    if device.type == "cpu":
        keep_freed_memory()
    run = TrainingRun(architecture, loss, settings, device, Path(checkpoint.path).parent / "kept")
    stored = checkpoint.load(device)
    if stored is not None:
        run.restore(stored)
        logger.info("resuming at batch %d of %d", run.done, settings.batches)
    else:
        run.start(crops)

    def save() -> None:
        run.check_finite()
        checkpoint.save(run.state())

    fetch = Prefetched(crops, settings)
    name = f"{settings.batch} x {settings.size} px"
    with Progress(name, settings.batches, "batches", done=run.done) as progress, fetch:
        while run.done < settings.batches:
            if stop.reason:
                save()
                raise Stopped(stop.reason)
            run.step(fetch(run.done))
            last = run.done == settings.batches
            if run.done % POLL == 0 or last:
                run.check_finite()
            if run.done % settings.log_every == 0 or last:
                run.log()
            if run.done % settings.checkpoint_every == 0 or last:
                run.keep()
                save()
            progress.advance()
    return run.trained()


class TrainingRun:
    """The state of a training: all that changes from batch to batch."""

    def __init__(
        self,
        architecture: Architecture,
        loss: PerceptualLoss,
        settings: TrainingSettings,
        device: torch.device,
        folder: Path,
    ) -> None:
        self._loss, self._settings, self._device, self._folder = loss, settings, device, folder
        self._network = initial_network(architecture, settings.seed).to(device)
        if device.type == "cuda":  # what its tensor cores read without a copy
            self._network.to(memory_format=torch.channels_last)
        self._adam = torch.optim.Adam(
            self._network.parameters(), settings.learning_rate, fused=True
        )
        self._scaler = torch.amp.GradScaler(device.type, enabled=settings.precision == "fp16")
        self.done = 0
        self._history: list[dict[str, float]] = []
        self._kept: list[int] = []
        self._summed = torch.zeros(len(TERMS), device=device)
        self._recent: list[Tensor] = []
        self._images = torch.empty(0)
        self._seconds, self._clock = 0.0, time.perf_counter()

    def start(self, crops: Crops) -> None:
        """Give a network that starts from the photograph the painting's colours."""
        if self._network.recolouring is None:
            return
        first = range(-(-COLOURS_FROM // self._settings.batch))
        images = torch.cat([load_batch(crops, self._settings, number) for number in first])
        self._network.recolouring.start_from(self._loss.painting.cpu(), images / 255)

    def step(self, crops: Tensor) -> None:
        """Update the weights once on uint8 images [N, 3, S, S]."""
        settings = self._settings
        images = crops.to(self._device).float() / 255
        for group in self._adam.param_groups:
            group["lr"] = learning_rate(self.done, settings)
        self._adam.zero_grad()
        with training_precision(self._device, settings.precision):
            stylised = self._network(images)
            terms = self._loss.terms(self._network.recoloured(images), stylised)
            if self._loss.settings.temporal_weight:
                generator = keyed_generator(CPU, "disturbed", settings.seed, self.done)
                terms["temporal"] = self._loss.temporal(self._network, images, stylised, generator)
            total = torch.stack(list(terms.values())).sum()
        self._scaler.scale(total).backward()
        self._scaler.step(self._adam)
        self._scaler.update()
        nothing = total.new_zeros(())
        values = torch.stack([terms.get(name, nothing).detach().float() for name in TERMS])
        self._summed += values
        self._recent.append(values)
        self._images = images
        self.done += 1

    def check_finite(self) -> None:
        """Raise DivergedError when a loss since the last look, or a weight now, isn't finite."""
        recent, self._recent = self._recent, []
        finite = [bool(values.isfinite().all()) for values in recent]
        weights = all(bool(p.isfinite().all()) for p in self._network.parameters())
        if all(finite) and weights:
            return
        first = self.done - len(recent) + finite.index(False) if not all(finite) else self.done
        saved = self._kept[-1] if self._kept else 0
        raise DivergedError(
            f"the loss is not finite at batch {first} (learning rate "
            f"{learning_rate(first, self._settings):.3g}, precision {self._settings.precision}); "
            f"the last kept weights are of batch {saved}. Lower learning_rate first, then "
            "style_weight, or train in bf16 or float32."
        )

    def log(self) -> None:
        """Append the means since the last row to the history."""
        rows = self._history
        count = self.done - (int(rows[-1]["batch"]) if rows else 0)
        means = (self._summed / count).tolist()
        named = dict(zip(TERMS, means, strict=True))
        self._summed.zero_()
        self._tick()
        rows.append(
            {
                "batch": self.done,
                **{name: value for name, value in named.items() if name != "gamut"},
                "total": sum(means),
                "learning_rate": learning_rate(self.done - 1, self._settings),
                "seconds": round(self._seconds, 3),
                "gamut": named["gamut"],
            }
        )

    def keep(self) -> None:
        """Write the weights as they are, and a random training image with its stylised version."""
        image = self._images[:1]
        with torch.no_grad(), training_precision(self._device, self._settings.precision):
            stylised = self._network(image)
        pair = torch.cat([image, stylised.float().clamp(0, 1)], 3)[0]
        tensors = {
            name: value.contiguous().cpu() for name, value in self._network.state_dict().items()
        }
        tensors["sample"] = (pair * 255).round().byte().cpu()
        with atomic_path(self._file(self.done)) as temporary:
            save_file(tensors, temporary)
        self._kept.append(self.done)

    def state(self) -> dict[str, Any]:
        self._tick()
        return {
            "done": self.done,
            "network": self._network.state_dict(),
            "adam": self._adam.state_dict(),
            "scaler": self._scaler.state_dict(),
            "history": self._history,
            "kept": self._kept,
            "summed": self._summed,
            "seconds": self._seconds,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.done, self._history, self._kept = state["done"], state["history"], state["kept"]
        self._network.load_state_dict(state["network"])
        self._adam.load_state_dict(state["adam"])
        self._scaler.load_state_dict(state["scaler"])
        self._summed.copy_(state["summed"])
        self._seconds = state["seconds"]

    def trained(self) -> Trained:
        checkpoints = {}
        for batches in self._kept:
            tensors = load_file(self._file(batches))
            sample = tensors.pop("sample")
            checkpoints[batches] = Kept(tensors, sample)
        return Trained(checkpoints, pd.DataFrame(self._history))

    def _file(self, batches: int) -> Path:
        return self._folder / f"{batches:06d}.safetensors"

    def _tick(self) -> None:
        now = time.perf_counter()
        self._seconds += now - self._clock
        self._clock = now


def initial_network(architecture: Architecture, seed: int) -> TransformationNetwork:
    """A network with PyTorch's default initialisation; leaves the global random state alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(keyed_generator(CPU, "network", seed).initial_seed())
        return TransformationNetwork(architecture)


def learning_rate(number: int, settings: TrainingSettings) -> float:
    """Adam's rate for batch `number` (from 0)."""
    if settings.schedule == "constant":
        return settings.learning_rate
    share = (number + 1) / settings.batches
    if share < WARM_UP:
        height = (1 - math.cos(math.pi * share / WARM_UP)) / 2
    else:
        height = (1 + math.cos(math.pi * (share - WARM_UP) / (1 - WARM_UP))) / 2
    return settings.learning_rate * max(height, 1e-3)
