"""What Version 2 learns from beside its losses: Version 1's pictures of some of its photographs.

By Eq. 5 and 6 alone a network must find out by itself where in a photograph a painting's marks
belong, and within hours it finds a lattice. Version 1 knows: it moves a photograph there step by
step. So some of the training crops are painted by it, in the painting's colours from the start,
and the content that a network is compared with is that of the picture, not of the photograph. The
two terms then agree, since the picture has both (docs/style-networks.md, "Pictures by Version 1").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


def paint_targets(painter: "Painter", checkpoint: Checkpoint, stop: Stop) -> Tensor:
    """Version 1's pictures of all of the painter's photographs: uint8, as many and as large.

    On from `checkpoint` where there is one, to the same bytes; raises `Stopped` after saving when
    `stop` asks.
    """
    steps = painter.evaluations * len(painter.groups)
    rhythm = Rhythm(steps, ("evaluation", "evaluations"), seconds=SAVE_EVERY_SECONDS)
    loop = TrainingLoop(painter, rhythm, checkpoint, lambda: stop.reason)
    loop.restore(painter.device)
    loop.run(f"{sum(map(len, painter.groups))} pictures", painter.step)
    return painter.painted


class Painter:
    """Groups of photographs that are painted one after the other: a training for the loop.

    None of it diverges as a whole: a picture that does goes on from its last good state.
    """

    def __init__(
        self,
        photographs: Tensor,
        painting: Tensor,
        size: int,
        backbone: Backbone,
        settings: TargetSettings,
        device: torch.device,
    ) -> None:
        """photographs: uint8 [N, 3, S, S];  painting: [3, h, w] in [0, 1], looked at with
        `size` pixels along its shorter side
        """
        self.groups = list(photographs.split(settings.batch))
        self.painted = torch.empty(0, *photographs.shape[1:], dtype=torch.uint8)
        self._style = [Painting(painting.to(device))]
        self._stroke = size / min(photographs.shape[-2:])
        self._backbone, self.device = backbone.to(device), device
        self._choices = preset(
            "tuned",
            backbone.architecture.name,
            aspect="kept",
            content_weight=settings.content_weight,
            precision=settings.precision,
        )
        self._through = scales(settings.scales, [settings.evaluations])
        self._going: CoarseToFine | None = None
        self._number = 0  # of the group that goes

    @property
    def evaluations(self) -> int:
        """Evaluations of each group."""
        return sum(scale.evaluations for scale in self._through)

    @property
    def done(self) -> int:
        """Evaluations so far."""
        return self._number * self.evaluations + (self._going.done if self._going else 0)

    def step(self) -> None:
        """Evaluate the images of the group that goes once."""
        if self._going is None:
            self._going = self._begun()
        self._going.step()

    def _begun(self) -> CoarseToFine:
        group = self.groups[self._number].to(self.device).float() / 255
        images = torch.stack([by_lightness(each, self._style[0].image) for each in group])
        return CoarseToFine(
            images,
            [self._style] * len(images),
            self._backbone,
            self._choices,
            self._through,
            stroke=self._stroke,
            seeds=[0] * len(images),
        )

    @property
    def evaluation_due(self) -> bool:
        """Whether the scale that goes has ended."""
        return self._going is not None and self._going.evaluation_due

    def evaluate(self) -> bool:
        """Go over to the next scale, or keep the group's pictures."""
        assert self._going is not None
        self._going.evaluate()
        if self._going.done == self.evaluations:
            pictures = (self._going.images.clamp(0, 1) * 255).round().byte().cpu()
            self.painted = torch.cat([self.painted, pictures])
            self._number, self._going = self._number + 1, None
        return True

    def trouble(self) -> str:
        """None that is the whole's."""
        return ""

    def state(self) -> dict[str, Any]:
        """What `restore` goes on from."""
        going = None if self._going is None else self._going.state()
        return {"number": self._number, "painted": self.painted, "going": going}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `state` returned."""
        self._number, self.painted = state["number"], state["painted"].cpu()
        self._going = None
        if state["going"] is not None:
            self._going = self._begun()
            self._going.restore(state["going"])
