"""What Version 2 learns from beside its losses: Version 1's pictures of some of its photographs.

By Eq. 5 and 6 alone a network must find out by itself where in a photograph a painting's marks
belong; Version 1 moves a photograph there step by step. So it paints some of the training crops,
and the content that a network is compared with is that of the picture: the two terms then agree,
since the picture has both (docs/style-networks.md, "Pictures by Version 1").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import keyed_generator
from triptych.core.stopping import Stop
from triptych.core.training_loop import Rhythm, TrainingLoop
from triptych.style.data.backbone import Backbone
from triptych.style.data.colours import by_lightness
from triptych.style.network.training_data import Crops
from triptych.style.optimise.presets import preset
from triptych.style.optimise.scales import CoarseToFine, scales
from triptych.style.optimise.styles import Painting

CPU = torch.device("cpu")

SAVE_EVERY_SECONDS = 60.0


@dataclass(frozen=True)
class TargetSettings:
    """How many pictures there are of a painting, and how Version 1 paints them.

    pictures, validation: of training crops, and of those held out
    scales:      factors of the content's weight, coarse to fine
    evaluations: at each scale;  batch: pictures side by side
    """

    pictures: int
    validation: int
    scales: Sequence[float]
    evaluations: int
    content_weight: float
    batch: int
    precision: str
    seed: int


def chosen_crops(crops: Crops, painting: str, settings: TargetSettings) -> list[int]:
    """The numbers of the crops that are painted, those held out of training last.

    As many as the settings say, or all where there are fewer.
    """
    numbers: list[int] = []
    wanted = ((crops.training, settings.pictures), (crops.validation, settings.validation))
    for (among, count), kind in zip(wanted, ("training", "held_out"), strict=True):
        generator = keyed_generator(CPU, "lessons", painting, settings.seed, kind)
        numbers += [among[i] for i in torch.randperm(len(among), generator=generator)[:count]]
    return numbers


def paint_targets(
    photographs: Tensor,
    painting: Tensor,
    size: int,
    backbone: Backbone,
    settings: TargetSettings,
    device: torch.device,
    checkpoint: Path,
    fingerprint: str,
    stop: Stop,
) -> Tensor:
    """Version 1's pictures of photographs, uint8 [N, 3, S, S] like these.

    painting: [3, h, w] in [0, 1], looked at with `size` pixels along its shorter side
    checkpoint: a folder, from which those go on that were begun, to the same bytes
    Raises `Stopped` after saving when `stop` asks. A picture that diverges goes on at the next
    scale from its last good state.
    """
    style, backbone = [Painting(painting.to(device))], backbone.to(device)
    choices = preset(
        "tuned",
        backbone.architecture.name,
        aspect="kept",
        content_weight=settings.content_weight,
        precision=settings.precision,
    )
    pictures = []
    for number, group in enumerate(photographs.split(settings.batch)):
        images = [by_lightness(each, style[0].image) for each in group.to(device).float() / 255]
        painter = CoarseToFine(
            torch.stack(images),
            [style] * len(group),
            backbone,
            choices,
            scales(settings.scales, [settings.evaluations]),
            stroke=size / min(photographs.shape[-2:]),
            seeds=[0] * len(group),
        )
        steps, unit = painter.evaluations, ("evaluation", "evaluations")
        rhythm = Rhythm(steps, unit, seconds=SAVE_EVERY_SECONDS)
        stored = Checkpoint(checkpoint / str(number), fingerprint)
        loop = TrainingLoop(painter, rhythm, stored, lambda: stop.reason)
        loop.restore(device)
        begin = 1 + number * settings.batch
        name = f"pictures {begin} to {begin + len(group) - 1} of {len(photographs)}"
        loop.run(name, painter.step)
        pictures.append((painter.images.clamp(0, 1) * 255).round().byte().cpu())
    return torch.cat(pictures)
