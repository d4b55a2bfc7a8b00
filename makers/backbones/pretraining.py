"""A backbone that learns from a handful of photographs, without labels and without downloads.

Instance discrimination (Chen et al. 2020, "A simple framework for contrastive learning of visual
representations"): two views of one place, cropped and coloured at random, shall be more alike than
views of different places. The network learns with batch norm, which is folded into its
convolutions at the end.
"""

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import keyed_generator, precision_context
from triptych.core.errors import InputError
from triptych.core.oom_retry import NoRoomError
from triptych.core.stopping import Stop
from triptych.core.training_loop import Rhythm, TrainingLoop, all_finite, exploded
from triptych.style.data.architectures import Architecture, Pooling
from triptych.style.data.backbone import Backbone

LONGEST_SIDE = 720
"""Pixels; a larger photograph is reduced to this before crops are taken."""


class Views:
    """Two views each of random places in photographs, a function of seed and step.

    All photographs lie below each other in one sheet, each at full and at half size, so that one
    `grid_sample` cuts a batch.
    """

    def __init__(self, photographs: Mapping[str, Image.Image], device: torch.device) -> None:
        arrays = []
        for photograph in photographs.values():
            share = min(1.0, LONGEST_SIDE / max(photograph.size))
            for scale in (share, share / 2):
                size = (round(photograph.width * scale), round(photograph.height * scale))
                reduced = photograph.resize(size, Image.Resampling.LANCZOS)
                arrays.append(np.asarray(reduced.convert("RGB")))
        heights = [array.shape[0] for array in arrays]
        self._size = torch.tensor([[array.shape[1], array.shape[0]] for array in arrays])
        self._top = torch.tensor([0, *heights[:-1]]).cumsum(0)
        sheet = np.zeros((sum(heights), int(self._size[:, 0].max()), 3), np.uint8)
        for array, top in zip(arrays, self._top.tolist(), strict=True):
            sheet[top : top + array.shape[0], : array.shape[1]] = array
        self._sheet = torch.from_numpy(sheet).to(device).permute(2, 0, 1)[None].float() / 255

    def at(self, seed: int, step: int, batch: int, view: int) -> Tensor:
        """Views [2 * batch, 3, view, view] in [0, 1]; i and i + batch are of one place.

        Crops are 7/8 to 13/8 of a view wide, so that little is sampled up or down, and shifted by
        up to a quarter of their side. Drawn on the CPU, so that all devices see the same.
        """
        generator = keyed_generator(torch.device("cpu"), "views", seed, step)

        def uniform(low: float, high: float, *shape: int) -> Tensor:
            return low + (high - low) * torch.rand(shape, generator=generator)

        photograph = torch.randint(len(self._size), (batch,), generator=generator).repeat(2)
        size = self._size[photograph]
        place = uniform(0, 1, batch, 2).repeat(2, 1) * size
        side = uniform(7 / 8, 13 / 8, 2 * batch, 1) * view
        side = torch.minimum(side, size.amin(1, keepdim=True))
        centre = place + side * uniform(-0.25, 0.25, 2 * batch, 2)
        centre = torch.minimum(torch.maximum(centre, side / 2), size - side / 2)
        mirror = torch.randint(2, (2 * batch, 1), generator=generator) * 2 - 1
        offsets = (torch.arange(view) + 0.5) / view - 0.5
        x = centre[:, :1] + side * mirror * offsets
        y = centre[:, 1:] + side * offsets + self._top[photograph][:, None]
        height, width = self._sheet.shape[2:]
        grid = torch.stack(
            [
                (2 * x / width - 1)[:, None, :].expand(-1, view, -1),
                (2 * y / height - 1)[:, :, None].expand(-1, -1, view),
            ],
            -1,
        ).reshape(1, 2 * batch * view, view, 2)
        flat = functional.grid_sample(self._sheet, grid.to(self._sheet.device), align_corners=False)
        views = flat.reshape(3, 2 * batch, view, view).transpose(0, 1)
        colours = [
            uniform(low, high, 2 * batch, channels, 1, 1).to(views.device)
            for low, high, channels in (
                (0.5, 1.5, 1),
                (0.6, 1.4, 1),
                (0.7, 1.3, 1),
                (0.85, 1.15, 3),
            )
        ]
        return _recoloured(views, *colours)


def _recoloured(
    views: Tensor, saturation: Tensor, contrast: Tensor, brightness: Tensor, gains: Tensor
) -> Tensor:
    grey = views.mean(1, keepdim=True)
    views = grey + saturation * (views - grey)
    mean = views.mean((1, 2, 3), keepdim=True)
    views = mean + contrast * (views - mean)
    return (views * (brightness * gains)).clamp(0, 1)


logger = logging.getLogger(__name__)

MEAN = (0.45, 0.45, 0.45)
STD = (0.25, 0.25, 0.25)
"""Of the input, RGB in [0, 1]: round figures for photographs."""


@dataclass(frozen=True)
class PretrainingSettings:
    """What is learned and for how long."""

    steps: int
    batch: int  # places a step; each is seen in two views
    view: int  # side of a view in pixels
    contrast_at: tuple[str, ...]  # layers whose mean activations must tell places apart
    learning_rate: float  # at the top of the one-cycle schedule
    weight_decay: float
    temperature: float  # divides the cosine similarities
    precision: str  # "float32", "tf32" or "bf16"
    seed: int
    log_every: int  # steps; a log's row is the mean over them
    checkpoint_every: int  # steps

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "PretrainingSettings":
        """From plain values, as the config holds them."""
        return cls(**{**table, "contrast_at": tuple(table["contrast_at"])})


@dataclass(frozen=True)
class Pretrained:
    """The backbone, and a row of the log for every `log_every` steps."""

    backbone: Backbone
    log: pd.DataFrame  # step, loss, pair_found_percent, seconds


class Trainee(torch.nn.Module):
    """An architecture with batch norm before each ReLU, and one head for each layer contrasted.

    Pools by averages; every weight is drawn from `generator`. Raises InputError for a layer to
    contrast at that the architecture doesn't have.
    """

    def __init__(
        self, architecture: Architecture, contrast_at: tuple[str, ...], generator: torch.Generator
    ) -> None:
        super().__init__()
        relus = [layer.relu for layer in architecture.convolutions.values()]
        if unknown := set(contrast_at) - set(relus):
            raise InputError(
                f"backbones: {architecture.name} has no layer "
                f"{', '.join(sorted(unknown))} to contrast at; it has {', '.join(relus)}"
            )
        self._architecture = architecture
        self._contrast_at = contrast_at
        self.convolutions = torch.nn.ModuleDict()
        self.norms = torch.nn.ModuleDict()
        self.heads = torch.nn.ModuleDict()
        for name, layer in architecture.convolutions.items():
            self.convolutions[name] = torch.nn.Conv2d(
                layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding, bias=False
            )
            self.norms[name] = torch.nn.BatchNorm2d(layer.outputs)
        for layer_name in contrast_at:
            width = architecture.channels(layer_name)
            self.heads[layer_name] = torch.nn.Sequential(
                torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 64)
            )
        for module in self.modules():
            if isinstance(module, torch.nn.Conv2d | torch.nn.Linear):
                torch.nn.init.kaiming_normal_(
                    module.weight, nonlinearity="relu", generator=generator
                )
                if module.bias is not None:
                    torch.nn.init.zeros_(module.bias)

    def forward(self, images: Tensor) -> list[Tensor]:
        """Unit vectors [N, 64] of images [N, 3, H, W] in [0, 1], one for each head."""
        return [
            functional.normalize(self.heads[name](activation.mean((2, 3))), dim=1)
            for name, activation in self.activations(images).items()
            if name in self._contrast_at
        ]

    def activations(self, images: Tensor) -> dict[str, Tensor]:
        """Activations [N, C, H', W'] after each ReLU, by the backbone's names."""
        x = (images - images.new_tensor(MEAN).view(3, 1, 1)) / images.new_tensor(STD).view(3, 1, 1)
        found: dict[str, Tensor] = {}
        for layer in self._architecture.layers:
            if isinstance(layer, Pooling):
                x = functional.avg_pool2d(x, layer.kernel, layer.stride)
            else:
                x = functional.relu(self.norms[layer.name](self.convolutions[layer.name](x)))
                found[layer.relu] = x
        return found

    def folded(self) -> dict[str, Tensor]:
        """Weights of the `Backbone` that equals this network in evaluation mode.

        gamma (W x - mean) / sqrt(var + eps) + beta is a convolution with a bias.
        """
        weights: dict[str, Tensor] = {}
        for name, norm in self.norms.items():
            assert isinstance(norm, torch.nn.BatchNorm2d)
            variance, mean = norm.running_var, norm.running_mean
            assert variance is not None and mean is not None
            scale = norm.weight.detach() / (variance + norm.eps).sqrt()
            kernel = self.get_parameter(f"convolutions.{name}.weight").detach()
            weights[f"{name}.weight"] = (kernel * scale[:, None, None, None]).contiguous()
            weights[f"{name}.bias"] = norm.bias.detach() - mean * scale
        return weights


def nt_xent(vectors: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Normalised temperature-scaled cross entropy (Chen et al. 2020, Eq. 1), and the share found.

    `vectors` [2B, D] have length one; i and i + B are a pair. The share is of those whose nearest
    vector among the 2B - 1 others is their pair.
    """
    similarity = (vectors @ vectors.T).float() / temperature
    similarity = similarity.masked_fill(
        torch.eye(len(vectors), dtype=torch.bool, device=vectors.device), -torch.inf
    )
    pair = torch.arange(len(vectors), device=vectors.device).roll(len(vectors) // 2)
    found = (similarity.argmax(1) == pair).float().mean()
    return functional.cross_entropy(similarity, pair), found


def one_cycle(step: int, steps: int, top: float) -> float:
    """Learning rate of a step (from 0): cosine up from top/25 over 30%, down to top/250000.

    Smith and Topin 2019, "Super-convergence", with PyTorch's figures.
    """
    rise = 0.3 * steps - 1
    if step <= rise:
        return _cosine(top / 25, top, step / rise)
    return _cosine(top, top / 25e4, (step - rise) / (steps - 1 - rise))


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


def pretrain(
    architecture: Architecture,
    photographs: Mapping[str, Image.Image],
    settings: PretrainingSettings,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: Stop,
) -> Pretrained:
    """Train `architecture` on `photographs`, resuming from `checkpoint`.

    Raises `Stopped` after saving when `stop` asks, DivergedError when a loss or a weight is not
    finite or the loss explodes (the last checkpoint stays), and NoRoomError when a GPU's memory
    doesn't hold the batch, which batch norm keeps from being taken in parts. The log's `seconds`
    count all attempts; everything else is the same for an unbroken run and a resumed one.
    """
    run = _Pretraining(architecture, photographs, settings, device)
    rhythm = Rhythm(
        settings.steps,
        ("step", "steps"),
        look=settings.log_every,
        save=settings.checkpoint_every,
        advice="Lower backbones.*.learning_rate.",
    )
    loop = TrainingLoop(run, rhythm, checkpoint, lambda: stop.reason)
    loop.restore(device)
    loop.run(f"{architecture.name} on {len(photographs)} photographs", run.step)
    return run.pretrained()


class _Pretraining:
    """The state of a pretraining: all that changes from step to step."""

    def __init__(
        self,
        architecture: Architecture,
        photographs: Mapping[str, Image.Image],
        settings: PretrainingSettings,
        device: torch.device,
    ) -> None:
        self._architecture, self._settings, self._device = architecture, settings, device
        generator = keyed_generator(torch.device("cpu"), "initialisation", settings.seed)
        trainee = Trainee(architecture, settings.contrast_at, generator)
        # Channels last: a step in bf16 takes two thirds of the time on a CPU.
        self._trainee = trainee.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._optimiser = torch.optim.AdamW(
            self._trainee.parameters(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
        )
        self._views = Views(photographs, device)
        self.done = 0
        self._rows: list[dict[str, float]] = []
        self._summed = torch.zeros(2, device=device)  # loss and share found, since the last row
        self._began = time.monotonic()

    @property
    def evaluation_due(self) -> bool:
        every, steps = self._settings.log_every, self._settings.steps
        return self._since_row() > 0 and (self.done % every == 0 or self.done == steps)

    def _since_row(self) -> int:
        """Steps since the log's last row."""
        return self.done - (int(self._rows[-1]["step"]) if self._rows else 0)

    def step(self) -> None:
        """Update the weights once. Raises NoRoomError."""
        settings = self._settings
        images = self._views.at(settings.seed, self.done, settings.batch, settings.view)
        images = images.contiguous(memory_format=torch.channels_last)
        for group in self._optimiser.param_groups:
            group["lr"] = one_cycle(self.done, settings.steps, settings.learning_rate)
        self._optimiser.zero_grad(set_to_none=True)
        try:
            with precision_context(self._device, settings.precision):
                losses, found = zip(
                    *(nt_xent(each, settings.temperature) for each in self._trainee(images)),
                    strict=True,
                )
            loss = torch.stack(losses).mean()
            loss.backward()
        except torch.OutOfMemoryError as error:
            raise NoRoomError(
                f"the GPU's memory doesn't hold a batch of {settings.batch} places in two "
                f"views ({error}). Lower backbones.*.batch: batch norm makes "
                "each view depend on all, so that a batch can't be taken in parts."
            ) from None
        self._optimiser.step()
        self._summed += torch.stack([loss.detach(), found[-1]])  # found by the deepest head
        self.done += 1

    def trouble(self) -> str:
        """What is wrong with the losses since the last row, or with the weights."""
        mean = float(self._summed[0]) / max(1, self._since_row())
        if not math.isfinite(mean):
            return f"the loss isn't finite before step {self.done}"
        if not all_finite(self._trainee.state_dict().values()):
            return f"weights aren't finite before step {self.done}"
        if self._rows and exploded(mean, self._rows[0]["loss"]):
            return f"the mean loss before step {self.done} is {mean:.3g}"
        return ""

    def evaluate(self) -> bool:
        """Append a row to the log."""
        loss, found = (self._summed / self._since_row()).tolist()
        self._rows.append(
            {
                "step": self.done,
                "loss": loss,
                "pair_found_percent": 100 * found,
                "seconds": round(time.monotonic() - self._began, 1),
            }
        )
        logger.info("step %d: loss %.2f, pair found %.0f%%", self.done, loss, 100 * found)
        self._summed.zero_()
        return False

    def state(self) -> dict[str, Any]:
        return {
            "step": self.done,
            "seconds": time.monotonic() - self._began,
            "rows": self._rows,
            "trainee": self._trainee.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "summed": self._summed,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.done, self._rows = state["step"], state["rows"]
        self._began = time.monotonic() - state["seconds"]
        self._trainee.load_state_dict(state["trainee"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._summed.copy_(state["summed"])

    def pretrained(self) -> Pretrained:
        backbone = Backbone(
            self._architecture, self._trainee.folded(), mean=MEAN, std=STD, pooling="average"
        )
        return Pretrained(backbone.cpu(), pd.DataFrame(self._rows))
