"""Which checkpoint of a training becomes the network: the one of the lowest held-out loss."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import training_precision
from triptych.core.errors import InputError
from triptych.core.oom_retry import OomRetry
from triptych.core.progress import Progress
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import PerceptualLoss
from triptych.style.feedforward.training_data import Crops, Lessons
from triptych.style.feedforward.update import ADVICE

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class Selection:
    """Held-out losses, one row a checkpoint, and the number of batches of the chosen one.

    losses: batch, content, style, total, chosen; weighted means over the held-out crops. `total`
    is the training loss without its temporal term.
    """

    losses: pd.DataFrame
    chosen: int


def select(
    checkpoints: Mapping[int, Weights],
    architecture: Architecture,
    loss: PerceptualLoss,
    crops: Crops,
    batch: int,
    precision: str,
    device: torch.device,
) -> Selection:
    """Score each checkpoint (weights by number of batches) on the crops held out of training.

    Raises InputError when none are held out, or no checkpoint has a finite loss. Of equal losses
    the earlier checkpoint is chosen.
    """
    if not crops.held_out:
        raise InputError(
            "no crops are held out of training, so there is nothing to choose a checkpoint by; "
            "make the crops anew with some held out"
        )
    rows = []
    with Progress("checkpoints", len(checkpoints), "checkpoints") as progress:
        for number, weights in sorted(checkpoints.items()):
            network = with_weights(architecture, weights).to(device)
            means = held_out_losses(network, loss, crops, batch, precision, device)
            rows.append({"batch": number, **means})
            progress.advance()
    losses = pd.DataFrame(rows)
    finite = losses[losses["total"].abs() < float("inf")]
    if finite.empty:
        raise InputError(
            f"none of the {len(losses)} checkpoints has a finite loss on the held-out crops; "
            "train anew with a lower learning_rate"
        )
    chosen = int(finite["batch"].iloc[int(finite["total"].argmin())])
    losses["chosen"] = losses["batch"] == chosen
    return Selection(losses, chosen)


def held_out_losses(
    network: TransformationNetwork,
    loss: PerceptualLoss,
    crops: Crops,
    batch: int,
    precision: str,
    device: torch.device,
) -> dict[str, float]:
    """Weighted content and style, and the total with total variation.

    Means over crops and styles; of lessons each is of one style.
    """
    of_styles = network.alone()
    step = len(of_styles) if isinstance(crops, Lessons) else 1

    def means(size: int) -> dict[str, float]:
        sums, count = {"content": 0.0, "style": 0.0, "total": 0.0}, 0
        for style, alone in enumerate(of_styles):
            numbers = crops.held_out[style % step :: step]
            for start in range(0, len(numbers), size):
                images = crops.batch(numbers[start : start + size]).to(device).float() / 255
                photographs, contents = images[:, :3], images[:, -3:]
                styles = torch.full((len(images),), style, device=device)
                with torch.no_grad(), training_precision(device, precision):
                    terms = loss.terms(contents, alone(photographs), styles)
                values = {name: float(value) * len(images) for name, value in terms.items()}
                sums["content"] += values["content"]
                sums["style"] += values["style"]
                sums["total"] += sum(values.values())
                count += len(images)
        return {name: value / count for name, value in sums.items()}

    return OomRetry(batch, "images", ADVICE).run(means)


def with_weights(architecture: Architecture, weights: Weights) -> TransformationNetwork:
    """A network that holds `weights`, on the CPU, for inference."""
    network = TransformationNetwork(architecture)
    network.load_state_dict(dict(weights))
    return network.eval().requires_grad_(False)


def through_checkpoints(
    checkpoints: Mapping[int, Weights], architecture: Architecture, image: Tensor
) -> list[Tensor]:
    """`image` [3, H, W] in [0, 1] as each checkpoint stylises it, in order: uint8 [3, H, S W].

    One beside the other for each of S styles.
    """
    stylised = []
    for _, weights in sorted(checkpoints.items()):
        networks = with_weights(architecture, weights).alone()
        with torch.no_grad():
            result = torch.cat([network(image[None])[0] for network in networks], 2)
        stylised.append((result.clamp(0, 1) * 255).round().byte())
    return stylised
