"""A new style for a trained conditional network: its norms alone are learnt.

Dumoulin, Shlens and Kudlur 2017, section 3.2: the convolutions of a network of many styles serve
for another one, whose scales and shifts of the norms are then few numbers, learnt in minutes.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.errors import InputError
from triptych.core.provenance import parameters_digest
from triptych.core.stopping import Stop
from triptych.style.data.backbone import load_backbone
from triptych.style.data.images import resize
from triptych.style.network.mixtures import styles_of
from triptych.style.network.network import Architecture, TransformationNetwork
from triptych.style.network.network_files import load_network, save_network
from triptych.style.network.perceptual import LossSettings, PerceptualLoss
from triptych.style.network.training import train
from triptych.style.network.training_data import Crops, TrainingSettings

BATCH, SIZE = 4, 128
"""Crops of an update, and their side in pixels."""

LOSSES = LossSettings(
    content_layers=("relu2_2", "relu3_3"),
    style_layers=("relu1_2", "relu2_2", "relu3_3", "relu4_3"),
    scaling="relative",
    content_weight=0.8,
    style_weight=2.0,
    total_variation_weight=1.0,
    gamut_weight=5.0,
)
"""Of VGG-16: the layers of makers/networks.yaml, with weights of their own and no tone."""

LEARNING_RATE = 0.02
"""For scales and shifts near one and zero, which take larger steps than convolutions."""


def learn_style(
    network: Path,
    painting: Tensor,
    name: str,
    crops: Crops,
    batches: int,
    *,
    backbone: Path,
    precision: str,
    device: torch.device,
    checkpoint: Path,
    stop: Stop,
    to: Path,
) -> None:
    """Write to `to` a network of one style, the painting's, from a conditional network's file.

    painting: [3, H, W] in [0, 1];  crops: of SIZE pixels at least;  backbone: a VGG-16, of
    the loss (LOSSES);  checkpoint: a folder
    Raises InputError for a file of one style, `Stopped` after saving when `stop` asks.
    """
    begun, record = _middle(network)
    of_styles, size = begun.of_styles(), record["painting_size"]
    for parameter, value in begun.named_parameters():
        value.requires_grad_(parameter in of_styles)
    judge = load_backbone(backbone, pooling="max").to(device)
    painting = resize(painting, size).to(device)
    schedule = TrainingSettings(
        batches=batches,
        batch=BATCH,
        size=SIZE,
        learning_rate=LEARNING_RATE,
        schedule="one_cycle",
        flips=True,
        checkpoint_every=batches,
        log_every=max(1, batches // 20),
        precision=precision,
        seed=0,
    )
    made_from = {
        "painting": _digest(painting),
        "files": [hashlib.sha256(path.read_bytes()).hexdigest() for path in (network, backbone)],
        "schedule": vars(schedule),
    }
    trained = train(
        begun,
        PerceptualLoss(judge, LOSSES, [painting]),
        crops,
        schedule,
        device,
        Checkpoint(checkpoint, parameters_digest(made_from)),
        stop,
    )
    begun.load_state_dict(trained.checkpoints[batches].weights)
    own = {
        **{"painting": name, "variant": "learned", "styles": [name], "batches": batches},
        **{"origin": f"learnt by the norms of {network.name}", "painting_size": size},
        **{"losses": asdict(LOSSES), "training": vars(schedule)},
    }
    save_network(to, begun, own)


def begun_from(
    path: Path, architecture: Architecture, styles: Sequence[str]
) -> TransformationNetwork:
    """A network of `styles`, to be trained, from a file's conditional one: each style as it is
    where they are the file's own, and else the mean of the file's.

    Raises InputError for a file of one style, or of another architecture but for the styles.
    """
    middle, record = _middle(path)
    if replace(architecture, styles=1) != middle.architecture:
        advice = 'make them agree, or begin from chance (style.networks.initial_weights: "")'
        found = f"{path} has {middle.architecture}, the configuration's style.network"
        raise InputError(f"{found} {architecture}; {advice}")
    network = TransformationNetwork(architecture)
    if list(styles) == record["styles"]:
        begun = [load_network(path, style)[0] for style in styles]
    else:
        begun = [middle] * architecture.styles
    states, own = [each.state_dict() for each in begun], middle.of_styles()
    shape = network.state_dict()
    network.load_state_dict(
        {
            name: torch.stack([state[name] for state in states]).view_as(shape[name])
            if name in own
            else value
            for name, value in states[0].items()
        }
    )
    return network


def _digest(tensor: Tensor) -> str:
    return hashlib.sha256(tensor.cpu().numpy().tobytes()).hexdigest()


def _middle(path: Path) -> tuple[TransformationNetwork, Mapping[str, Any]]:
    """The even mixture of a conditional network's styles, and its record."""
    styles = styles_of(path)
    if not styles:
        such = "resources/style/networks/eight_styles.safetensors"
        raise InputError(f"{path} is no network of several styles; expected one such as {such}")
    network, record = load_network(path, "+".join(styles))
    return network.train(), record
