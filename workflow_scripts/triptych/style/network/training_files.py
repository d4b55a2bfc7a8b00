"""The files of a training, and the choice of its checkpoint by photographs held out."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from PIL import Image
from torch import Tensor

from triptych.core.device import training_precision
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv
from triptych.core.memory import OomRetry
from triptych.core.progress import Progress
from triptych.style.data.backbone import PoolingKind, load_backbone
from triptych.style.data.images import read_image, resize
from triptych.style.data.shards import Shards
from triptych.style.network.architecture import Architecture
from triptych.style.network.contact_sheet import contact_sheet
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import save_network
from triptych.style.network.perceptual import LossSettings, PerceptualLoss
from triptych.style.network.training import ADVICE, Trained

Path = str | os.PathLike[str]

MOST_SHOWN = 12
"""Checkpoints on the sheet of samples; pictures of all lie beside the network."""


def named(table: pd.DataFrame, record: Mapping[str, Any]) -> pd.DataFrame:
    """`table` with the record's painting and variant in front, the keys of every table's row."""
    table = table.copy()
    for place, key in enumerate(("painting", "variant")):
        table.insert(place, key, record[key])
    return table


def read_loss(
    backbone: Path,
    pooling: PoolingKind,
    paintings: Sequence[Path],
    size: int,
    settings: LossSettings,
    device: torch.device,
) -> PerceptualLoss:
    """The loss under the backbone and the paintings in these files, `size` pixels along their
    shorter side."""
    images = [resize(read_image(painting), size) for painting in paintings]
    network = load_backbone(backbone, pooling=pooling).to(device)
    if device.type == "cuda":  # what its tensor cores read without a copy
        network.to(memory_format=torch.channels_last)
    return PerceptualLoss(network, settings, [image.to(device) for image in images])


def write_training(
    trained: Trained,
    architecture: Architecture,
    selected: pd.DataFrame,
    record: Mapping[str, Any],
    *,
    network: Path,
    selection: Path,
    losses: Path,
    samples: Path,
) -> None:
    """Write the chosen network, `select`'s table, the losses and the sheet of samples.

    record: the training's `painting`, `variant`, and what else JSON holds; the network's has the
    chosen checkpoint's `batches` and `validation` losses too.
    """
    row = selected[selected["chosen"]].iloc[0]
    chosen = trained.checkpoints[int(row["batch"])].weights
    facts = {
        **record,
        "batches": int(row["batch"]),
        "validation": {name: float(row[name]) for name in ("content", "style", "total")},
    }
    save_network(network, with_weights(architecture, chosen), facts)
    write_csv(named(selected, record), selection)
    write_csv(named(trained.losses, record), losses)
    some = shown_batches(sorted(trained.checkpoints), int(row["batch"]))
    samples_shown = [trained.checkpoints[batches].sample for batches in some]
    pictures = [Image.fromarray(sample.permute(1, 2, 0).numpy()) for sample in samples_shown]
    captions = [f"{batches} batches" for batches in some]
    columns = max(1, min(3, round(len(some) ** 0.5)))
    with atomic_path(samples) as temporary:
        contact_sheet(pictures, captions, columns).save(temporary, "PNG", optimize=True)


def shown_batches(batches: Sequence[int], chosen: int) -> list[int]:
    """At most MOST_SHOWN of these, evenly spaced from the first to the last, and `chosen`."""
    last = len(batches) - 1
    places = {round(number * last / (MOST_SHOWN - 1)) for number in range(MOST_SHOWN)}
    return sorted({batches[place] for place in places} | {chosen})


def select(
    trained: Trained,
    architecture: Architecture,
    loss: PerceptualLoss,
    crops: Shards,
    batch: int,
    precision: str,
    device: torch.device,
) -> pd.DataFrame:
    """Losses on the crops held out of training, one row a checkpoint, the lowest total chosen.

    Columns batch, content, style, total, chosen; weighted means over the crops. Raises InputError
    when no crops are held out, or no checkpoint has a finite loss.
    """
    if not crops.validation:
        raise InputError("no crops are held out to choose a checkpoint by; hold some out")
    rows = []
    with Progress("checkpoints", len(trained.checkpoints), "checkpoints") as progress:
        for number, checkpoint in sorted(trained.checkpoints.items()):
            network = with_weights(architecture, checkpoint.weights).to(device)
            means = validation_losses(network, loss, crops, batch, precision, device)
            rows.append({"batch": number, **means})
            progress.advance()
    losses = pd.DataFrame(rows)
    finite = losses[losses["total"].abs() < float("inf")]
    if finite.empty:
        none = f"none of the {len(losses)} checkpoints has a finite loss on the held-out crops"
        raise InputError(f"{none}; lower the learning_rate")
    return losses.assign(chosen=losses["batch"] == finite["batch"].iloc[finite["total"].argmin()])


def validation_losses(
    network: TransformationNetwork,
    loss: PerceptualLoss,
    crops: Shards,
    batch: int,
    precision: str,
    device: torch.device,
) -> dict[str, float]:
    """Weighted content, style and total loss: means over crops and styles."""
    of_styles = network.alone()

    def means(size: int) -> dict[str, float]:
        sums, count = {"content": 0.0, "style": 0.0, "total": 0.0}, 0
        for style, alone in enumerate(of_styles):
            numbers = crops.validation
            for start in range(0, len(numbers), size):
                images = crops.batch(numbers[start : start + size]).to(device).float() / 255
                styles = torch.full((len(images),), style, device=device)
                with torch.no_grad(), training_precision(device, precision):
                    terms = loss.terms(images, alone(images), styles)
                values = {name: float(value) * len(images) for name, value in terms.items()}
                sums["content"] += values["content"]
                sums["style"] += values["style"]
                sums["total"] += sum(values.values())
                count += len(images)
        return {name: value / count for name, value in sums.items()}

    return OomRetry(batch, "images", ADVICE).run(means)


def with_weights(
    architecture: Architecture, weights: Mapping[str, Tensor]
) -> TransformationNetwork:
    """A network that holds `weights`, on the CPU, for inference."""
    network = TransformationNetwork(architecture)
    network.load_state_dict(dict(weights))
    return network.eval().requires_grad_(False)
