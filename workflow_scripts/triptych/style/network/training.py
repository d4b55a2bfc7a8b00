"""Train a transformation network for one painting or for several, resumably.

Nothing is drawn from a running stream: a batch's images, crops and flips are functions of the
seed and the batch's number, so a resumed run sees what an unbroken one would have seen.
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import training_precision
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, clear_partial
from triptych.core.memory import OomRetry, keep_freed_memory
from triptych.core.stopping import Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop, all_finite, exploded
from triptych.style.data.images import resize_to, to_bytes, write_image
from triptych.style.data.shards import Shards
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.perceptual import TERMS, PerceptualLoss
from triptych.style.network.training_data import (
    TrainingSettings,
    batch_styles,
    learning_rate,
    prefetched,
)

WARM_UP_WEIGHT = 100.0
"""Weight of the mean square by which a copy errs, images in [0, 1], while a network warms up."""

POLL = 10
"""Batches between two checks of losses and weights, which make a GPU wait."""

NORM_RATE_FACTOR = 6.0
"""Factor of the learning rate for the norms of each style of a conditional network."""

ADVICE = "Lower style.training.schedule.size or style.network.width, or train in bf16."


@dataclass(frozen=True)
class Kept:
    """A kept checkpoint: weights, and what it shows (`TrainingRun`), uint8 [3, S, W]."""

    weights: dict[str, Tensor]
    sample: Tensor


@dataclass(frozen=True)
class Trained:
    """Checkpoints by their number of batches, and the losses (weighted means, one row a log)."""

    checkpoints: dict[int, Kept]
    losses: pd.DataFrame


def train(
    network: TransformationNetwork,
    loss: PerceptualLoss,
    crops: Shards,
    settings: TrainingSettings,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: Stop,
    *,
    photograph: Tensor | None = None,
    pictures: Path | None = None,
) -> Trained:
    """Train a network of the loss's paintings with Adam (Johnson et al. 2016).

    photograph: [3, H, W], which every kept checkpoint paints; pictures: a folder where what each
    shows is written at once, as {batches}.png

    Moves `network` to the device and trains it in place. Raises `Stopped` after saving when `stop`
    asks, DivergedError when a loss or a weight is not finite or the loss explodes, InputError for
    fewer crops than a batch holds.
    """
    if len(crops.training) < settings.batch:
        raise InputError(
            f"{len(crops.training)} crops are fewer than one batch of {settings.batch}; "
            "give more photographs, or lower the batch"
        )
    if device.type == "cpu":
        keep_freed_memory()
    folder = Path(checkpoint.path).parent / "kept"
    run = TrainingRun(
        network, loss, settings, device, folder, photograph=photograph, pictures=pictures
    )
    advice = "Lower style.training.schedule.learning_rate, or train in bf16 or float32."
    loop_settings = LoopSettings(settings.batches, ("batch", "batches"), POLL, advice=advice)
    loop = TrainingLoop(run, loop_settings, checkpoint, lambda: stop.reason)
    if not loop.restore(device):
        run.start()
    with contextlib.closing(prefetched(crops, settings, run.done)) as batches:
        name = f"{settings.batch} x {settings.size} px"
        loop.run(name, lambda: run.step(next(batches)))
    return run.trained()


class TrainingRun:
    """The state of a training: all that changes from batch to batch.

    A whole batch goes through the network at once, and less where memory runs out: nothing mixes
    its images, so that gradients of parts add up. A kept checkpoint shows a training image beside
    its stylised version, and one photograph, the same for all checkpoints, in each style.
    """

    def __init__(
        self,
        network: TransformationNetwork,
        loss: PerceptualLoss,
        settings: TrainingSettings,
        device: torch.device,
        folder: Path,
        *,
        photograph: Tensor | None = None,
        pictures: Path | None = None,
    ) -> None:
        self._loss, self._settings = loss, settings
        self._photograph, self._pictures = photograph, pictures
        if pictures is not None:
            clear_partial(pictures)  # what a killed training left
        self._device, self._folder = device, folder
        self._network = network.to(device)
        if device.type == "cuda":  # what its tensor cores read without a copy
            self._network.to(memory_format=torch.channels_last)
        norms = network.of_styles() if network.architecture.styles > 1 else {}
        learnt = [pair for pair in network.named_parameters() if pair[1].requires_grad]
        shared = [value for name, value in learnt if name not in norms]
        apart = [value for name, value in learnt if name in norms]
        rates = ((shared, 1.0), (apart, NORM_RATE_FACTOR))
        groups = [{"params": values, "times": times} for values, times in rates if values]
        self._adam = torch.optim.Adam(groups, settings.learning_rate, fused=True)
        self._scaler = torch.amp.GradScaler(device.type, enabled=settings.precision == "fp16")
        self._portion = OomRetry(settings.batch, "images", ADVICE)
        self.done = 0
        self._history: list[dict[str, float]] = []
        self._kept: list[int] = []
        self._summed = torch.zeros(len(TERMS), device=device)

        self._images = torch.empty(0)
        self._styles: Tensor | None = None
        self._seconds, self._clock = 0.0, time.perf_counter()

    def start(self) -> None:
        """Give a network with a palette the paintings' colours."""
        if self._network.palette is not None:
            self._network.palette.take([painting.cpu() for painting in self._loss.paintings])

    def step(self, crops: Tensor) -> None:
        """Update the weights once on uint8 images [N, 3, S, S]."""
        images = crops.to(self._device).float() / 255
        self._images = images
        styles = batch_styles(len(self._loss.paintings), self._settings, self.done)
        self._styles = styles if styles is None else styles.to(self._device)
        for group in self._adam.param_groups:
            group["lr"] = learning_rate(self.done, self._settings) * group["times"]
        values = self._portion.run(lambda size: self._gradients(images, self._styles, size))
        if self._settings.gradient_norm:
            self._scaler.unscale_(self._adam)
            weights = self._network.parameters()
            torch.nn.utils.clip_grad_norm_(weights, self._settings.gradient_norm)
        self._scaler.step(self._adam)
        self._scaler.update()
        self._summed += values

        self.done += 1

    def _gradients(self, images: Tensor, styles: Tensor | None, size: int) -> Tensor:
        self._adam.zero_grad()
        values = torch.zeros(len(TERMS), device=self._device)
        for first in range(0, len(images), size):
            part = slice(first, first + size)
            photographs = images[part]
            part_styles = None if styles is None else styles[part]
            with training_precision(self._device, self._settings.precision):
                network = (
                    self._network if part_styles is None else self._network.of_each(part_styles)
                )
                stylised = network(photographs)
                if self.done < self._settings.warm_up:
                    terms = {
                        "content": WARM_UP_WEIGHT
                        * self._loss.copy_error(photographs, stylised, part_styles)
                    }
                else:
                    terms = self._loss.terms(photographs, stylised, part_styles)
                total = torch.stack(list(terms.values())).sum()
            share = len(images[part]) / len(images)
            self._scaler.scale(total * share).backward()
            nothing = values.new_zeros(())
            losses = [terms.get(name, nothing).detach().float() for name in TERMS]
            values += torch.stack(losses) * share
        return values

    @property
    def evaluation_due(self) -> bool:
        """Whether losses are to be written down or weights to be kept."""
        return self._log_due or self._keep_due

    @property
    def _log_due(self) -> bool:
        return self._since_log() > 0 and self._ends(self._settings.log_every)

    @property
    def _keep_due(self) -> bool:
        new = self.done > max(self._kept, default=0)
        return new and self._ends(self._settings.checkpoint_every)

    def _ends(self, every: int) -> bool:
        """Whether a multiple of `every` batches, or the training, ends here."""
        return self.done % every == 0 or self.done == self._settings.batches

    def evaluate(self) -> bool:
        """Append a row of losses, write weights to choose from, or both."""
        if self._log_due:
            self._log()
        if keeping := self._keep_due:
            self._keep()
        return keeping

    def check_divergence(self) -> str:
        """Why the losses since the last log or the weights have diverged; "" if they have not."""
        batch, mean = self.done - 1, float(self._summed.sum()) / max(1, self._since_log())
        first = self._history[0]["total"] if self._history else 0.0
        if not self._summed.isfinite().all():
            wrong = f"the loss is not finite up to batch {batch}"
        elif not all_finite(self._network.parameters()):
            wrong = f"weights are not finite after batch {batch}"
        elif exploded(mean, first):
            wrong = f"the mean loss up to batch {batch} is {mean:.3g}, at first it was {first:.3g}"
        else:
            return ""
        rate = learning_rate(batch, self._settings)
        return f"{wrong} (learning rate {rate:.3g}, precision {self._settings.precision})"

    def _since_log(self) -> int:
        """Batches since the history's last row."""
        return self.done - (int(self._history[-1]["batch"]) if self._history else 0)

    def _log(self) -> None:
        means = (self._summed / self._since_log()).tolist()
        self._summed.zero_()
        self._tick()
        rate = learning_rate(self.done - 1, self._settings)
        others = {"total": sum(means), "learning_rate": rate, "seconds": round(self._seconds, 3)}
        named = dict(zip(TERMS, means, strict=True))
        self._history.append({"batch": self.done, **named, **others})

    def _keep(self) -> None:
        """Write the weights and what they show, as a picture too."""
        picture = self._picture()
        if self._pictures is not None:
            write_image(self._pictures / f"{self.done:06d}.png", picture)
        tensors = {
            name: value.contiguous().cpu() for name, value in self._network.state_dict().items()
        }
        tensors["sample"] = to_bytes(picture).cpu()
        with atomic_path(self._file(self.done)) as temporary:
            save_file(tensors, temporary)
        self._kept.append(self.done)

    @torch.no_grad()
    def _picture(self) -> Tensor:
        """A checkpoint's pictures side by side, [3, S, W] in [0, 1]."""
        image, photograph = self._images[:1], self._photograph
        side, first = image.shape[2], self._styles
        network = self._network if first is None else self._network.of_each(first[:1])
        with training_precision(self._device, self._settings.precision):
            stylised = [network(image)]
            if photograph is not None:
                height, width = photograph.shape[1:]
                same = resize_to(photograph, side, max(1, round(side * width / height)))[None]
                stylised += [alone(same.to(self._device)) for alone in self._network.alone()]
        made = [picture.float().nan_to_num().clamp(0, 1) for picture in stylised]
        return torch.cat([image, *made], 3)[0]

    def state(self) -> dict[str, Any]:
        """State that the next batch depends on; kept weights lie in files of their own."""
        self._tick()
        return {
            "done": self.done,
            "network": self._network.state_dict(),
            "adam": self._adam.state_dict(),
            "scaler": self._scaler.state_dict(),
            "portion": self._portion.size,
            "history": self._history,
            "kept": self._kept,
            "summed": self._summed,
            "seconds": self._seconds,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.done, self._history, self._kept = state["done"], state["history"], state["kept"]
        self._network.load_state_dict(state["network"])
        self._adam.load_state_dict(state["adam"])
        self._scaler.load_state_dict(state["scaler"])
        self._portion.size = state["portion"]
        self._summed.copy_(state["summed"])
        self._seconds = state["seconds"]

    def trained(self) -> Trained:
        """All kept weights, read back from their files, and the history."""
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
