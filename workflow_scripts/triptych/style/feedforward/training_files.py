"""The files of a training and of the choice of its checkpoint: read, trained on, written.

`weights.safetensors` holds all checkpoints, "000500/conv1.conv2d.weight" and so on, and one
metadata key "training" with the architecture and a record of the settings.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv
from triptych.style.backbones.backbone import PoolingKind, load_backbone
from triptych.style.feedforward.network import Architecture
from triptych.style.feedforward.network_files import save_network
from triptych.style.feedforward.perceptual import LossSettings, PerceptualLoss
from triptych.style.feedforward.selection import (
    Selection,
    select,
    through_checkpoints,
    with_weights,
)
from triptych.style.feedforward.sheets import columns_for, contact_sheet, write_sheet
from triptych.style.feedforward.training import Trained
from triptych.style.feedforward.training_data import Crops, Lessons
from triptych.style.images import read_image, resize
from triptych.style.inputs.shards import Shards

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Style:
    """Which painting and which variant of its training: the keys of every table's row."""

    painting: str
    variant: str

    def named(self, table: pd.DataFrame) -> pd.DataFrame:
        """`table` with the two in front."""
        table = table.copy()
        table.insert(0, "painting", self.painting)
        table.insert(1, "variant", self.variant)
        return table


@dataclass(frozen=True)
class Checkpoints:
    """All weights of a training by number of batches, their architecture and what made them."""

    weights: dict[int, dict[str, Tensor]]
    architecture: Architecture
    record: dict[str, Any]


def read_loss(
    backbone: Path,
    pooling: PoolingKind,
    paintings: Sequence[Path],
    size: int | None,
    settings: LossSettings,
    device: torch.device,
) -> PerceptualLoss:
    """The loss under the backbone and the paintings in these files.

    size: the shorter side that a painting is resized to, in pixels; None leaves it as it is.
    """
    images = [read_image(painting) for painting in paintings]
    if size is not None:
        images = [resize(image, size) for image in images]
    network = load_backbone(backbone, pooling=pooling).to(device)
    if device.type == "cuda":  # what its tensor cores read without a copy
        network.to(memory_format=torch.channels_last)
    return PerceptualLoss(network, settings, [image.to(device) for image in images])


def read_crops(crops: Path, index: Path, lessons: Sequence[Path]) -> Crops:
    """What is trained on: the crops, or the lessons on them where there are any.

    lessons: for each style the file of its pictures and their index, in turn
    """
    photographs = Shards(crops, index)
    if not lessons:
        return photographs
    pictures = [Shards(*pair) for pair in zip(lessons[::2], lessons[1::2], strict=True)]
    return Lessons(photographs, pictures)


def write_training(
    trained: Trained,
    architecture: Architecture,
    style: Style,
    record: Mapping[str, Any],
    *,
    weights: Path,
    losses: Path,
    samples: Path,
) -> None:
    """Write all checkpoints, the losses and the sheet of samples; record: whatever JSON holds."""
    tensors = {
        f"{batches:06d}/{name}": value
        for batches, kept in trained.checkpoints.items()
        for name, value in kept.weights.items()
    }
    header = {"architecture": asdict(architecture), "record": {**asdict(style), **record}}
    with atomic_path(weights) as temporary:
        save_file(tensors, temporary, {"training": json.dumps(header, sort_keys=True)})
    write_csv(style.named(trained.losses), losses)
    pairs = {batches: kept.sample for batches, kept in trained.checkpoints.items()}
    captions = [f"{batches} batches" for batches in pairs]
    columns = columns_for(len(pairs), widest=4)
    write_sheet(samples, contact_sheet(list(pairs.values()), captions, columns))


def read_checkpoints(path: Path) -> Checkpoints:
    """What `write_training` wrote as weights. Raises InputError for another file."""
    weights: dict[int, dict[str, Tensor]] = {}
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            for key in file.keys():  # noqa: SIM118
                batches, _, name = key.partition("/")
                if name:
                    weights.setdefault(int(batches), {})[name] = file.get_tensor(key)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as a training's weights ({error})") from error
    if "training" not in metadata or not weights:
        raise InputError(
            f"{path}: has no metadata 'training'; expected the weights of all checkpoints that "
            "style_train writes"
        )
    try:
        header = json.loads(metadata["training"])
        return Checkpoints(weights, Architecture(**header["architecture"]), dict(header["record"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: what it says of its training cannot be understood ({error!r}); train anew"
        ) from error


def select_network(
    checkpoints: Checkpoints,
    loss: PerceptualLoss,
    crops: Crops,
    content: Tensor,
    batch: int,
    precision: str,
    device: torch.device,
    *,
    network: Path,
    selection: Path,
    sheet: Path,
) -> Selection:
    """Choose a checkpoint and write it, the held-out losses, and `content` through them all.

    content: [3, H, W] in [0, 1]. The network's record is the training's with `batches`, the
    number of batches of the chosen one, and its `held_out` losses.
    """
    weights, architecture = checkpoints.weights, checkpoints.architecture
    chosen = select(weights, architecture, loss, crops, batch, precision, device)
    table = chosen.losses
    row = table[table["chosen"]].iloc[0]
    record = {
        **checkpoints.record,
        "batches": chosen.chosen,
        "held_out": {name: float(row[name]) for name in ("content", "style", "total")},
    }
    style = Style(record["painting"], record["variant"])
    save_network(network, with_weights(architecture, weights[chosen.chosen]), record)
    write_csv(style.named(table), selection)
    images = through_checkpoints(weights, architecture, content)
    captions = [
        f"{number} batches, {total:.3g}"
        for number, total in zip(table["batch"], table["total"], strict=True)
    ]
    marked = table["chosen"].tolist().index(True)
    columns = columns_for(len(images), aspect=architecture.styles)
    write_sheet(sheet, contact_sheet(images, captions, columns, marked))
    return chosen
