"""Version 1 for people's own images: each is optimised towards a painting."""

import argparse
import hashlib
import logging
import shutil
import sys
from itertools import accumulate
from math import prod
from pathlib import Path

import torch
from torch import Tensor

from triptych.apps import chosen_device
from triptych.apps.pictures import EVALUATIONS, unfinished_folder
from triptych.apps.pictures.catalogue import backbone_file, painting_file
from triptych.apps.pictures.stylizer import Stylizer
from triptych.apps.pictures.work_list import Item
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_precision
from triptych.core.errors import InputError
from triptych.core.files import sha256_of
from triptych.core.memory import NoRoomError, free_memory, readable
from triptych.core.progress import Progress
from triptych.core.stopping import Stop, Stopped, listening
from triptych.core.training_loop import LoopSettings, TrainingLoop
from triptych.style import losses, optimise
from triptych.style.data import colours, enlarging
from triptych.style.data import images as image_tools
from triptych.style.data.backbone import load_backbone
from triptych.style.data.image_files import Planes, open_image, shape_along
from triptych.style.data.images import image_tensors, on_white
from triptych.style.data.prepare import check_painting
from triptych.style.optimise.choices import preset
from triptych.style.optimise.gatys import network_bytes, state_bytes
from triptych.style.optimise.scales import (
    MARGIN,
    CoarseToFine,
    Scale,
    in_colours,
    refining,
    scales,
    with_margin,
    with_moments,
    without_margin,
)

NO_MEMORY = ("can't allocate memory", "could not create a", "could not execute a primitive")
"""Texts of PyTorch's and oneDNN's errors where memory runs out; oneDNN gives no reason."""

OVERHEAD, FIXED = 1.3, 64e6
"""Memory of a process beside the estimate: a factor for holes in the heap and PyTorch's own copies
in another layout, and bytes. Up to 1.21 and 46e6 were seen, with 256 to 960 pixels."""

PAINTING_SIDE = 1536
"""Pixels along the shorter side of a painting that are kept at least of a much larger one."""

EVALUATION = 10_000
"""Pixels that take as long as what an evaluation costs at any size (by 46x66 to 345x505)."""

SAVE_EVERY_SECONDS = 60.0
"""Work that a kill may cost."""

Size = tuple[int, int]
"""Height and width in pixels."""

logger = logging.getLogger(__name__)


class OptimisingStylizer(Stylizer):
    """Version 1: each image is optimised towards a painting, coarse to fine."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.device = chosen_device(options)
        path = painting_file(options.style)
        self.painting = _painting(path, options.style_scale * (options.size or PAINTING_SIDE))
        check_painting(self.painting, path)
        self.stroke = options.style_scale
        path = backbone_file()
        precision = choose_precision("auto", self.device, "unscaled")
        # The pooling of the preset, whatever the architecture.
        backbone = load_backbone(path, pooling="max")
        self.choices = preset("tuned", backbone.architecture.name, precision=precision)
        self.backbone = backbone.to(self.device)
        self.finest = refining(self.choices)
        self.scales = scales(options.evaluations or EVALUATIONS)
        self.unfinished = unfinished_folder(options.output)
        self._states: list[Path] = []
        """Checkpoints of this call's images, each named by a digest of all that it follows from."""
        self._origin = [sha256_of(path), *map(sha256_of, _sources()), torch.__version__]
        self._stop: Stop | None = None
        logger.info(f"{backbone.architecture.name} ({path})")

    def work(self, items: list[Item], progress: Progress) -> list[tuple[Path, str]]:
        """Work as `Stylizer.work` does; raises Stopped by a signal, after saving the state."""
        with listening() as self._stop:
            try:
                failures = super().work(items, progress)
            except Stopped as stopped:
                print(
                    f"{stopped.reason}: {self.unfinished} holds what was done; the same "
                    "command goes on from there, or delete it",
                    file=sys.stderr,
                )
                raise
        for state in self._states:
            shutil.rmtree(state, ignore_errors=True)
        if self.unfinished.is_dir() and not any(self.unfinished.iterdir()):
            self.unfinished.rmdir()  # no other call has a state there
        return failures

    def render(self, photographs: Planes) -> Planes:
        """Optimise an image [1, 3, H, W]. Raises InputError for one that memory doesn't hold, with
        the --size that it does."""
        images = torch.from_numpy(photographs).to(self.device)
        size = _size(images)
        self._check_side(size, "an image")
        at_hand = 0.8 * free_memory(self.device)
        if self._bytes(size) > at_hand:
            raise InputError(self._too_large(size, at_hand))
        try:
            results = self._optimised(with_margin(images))
        except (RuntimeError, MemoryError, NoRoomError) as problem:
            if not _memory_ran_out(problem):
                raise
            raise InputError(self._too_large(size, 0.75 * self._bytes(size))) from problem
        painted: Planes = without_margin(results, *size).cpu().numpy()
        return painted

    def _bytes(self, size: Size) -> float:
        """Memory to optimise an image, the painting's features included."""
        size = (size[0] + 2 * MARGIN, size[1] + 2 * MARGIN)
        painting = shape_along(*_size(self.painting), max(1, round(self.stroke * min(size))))
        architecture = self.backbone.architecture
        network = max(
            network_bytes(architecture, self.finest, *shape) for shape in (size, painting)
        )
        state = max(state_bytes(self.finest, *size), 12.0 * painting[0] * painting[1])
        return OVERHEAD * (network + state) + FIXED

    def _too_large(self, size: Size, at_hand: float) -> str:
        """Sentence with the --size that fits into the memory at hand."""
        shorter = min(size)
        while shorter > self._least and self._bytes(shape_along(*size, shorter)) > at_hand:
            shorter = int(0.97 * shorter)
        advice = f"--size {shorter} fits" if shorter > self._least else "no --size fits"
        return (
            f"{_text(size)} pixels take {readable(self._bytes(size))} to optimise, towards a "
            f"painting of {_text(_size(self.painting))}, and {readable(at_hand)} may be used: "
            f"{advice}"
        )

    def _optimised(self, images: Tensor) -> Tensor:
        paintings = [self.painting.to(self.device)] * len(images)
        through = self._scales_for(_size(images))
        steps = [
            f"{scale.evaluations} at {_text(scale.shape(*_size(images)))}" for scale in through
        ]
        logger.info(f"{self.source}: evaluations {', '.join(steps)} pixels")
        run = CoarseToFine(
            images,
            in_colours(images, paintings),
            paintings,
            self.backbone,
            self.choices,
            through,
            stroke=self.stroke,
            finest=self.finest,
        )
        self._run(run, images)
        for reason in run.reasons:
            logger.warning(f"{self.source}: stopped {reason}")
        return with_moments(run.images, paintings)

    @property
    def _least(self) -> int:
        """Pixels that a side must have so that the deepest layer has a position."""
        return self.backbone.architecture.smallest_side(self.choices.layers)

    def _check_side(self, size: Size, what: str) -> None:
        """Raise InputError for an image of which the deepest layer would see nothing."""
        if min(size) < self._least:
            raise InputError(
                f"{what} of {_text(size)} pixels; --optimize expects at least {self._least} along "
                f"both sides, since {self.backbone.architecture.name} sees nothing in less. Take a "
                "larger one."
            )

    def _scales_for(self, size: Size) -> list[Scale]:
        """The scales that are large enough for the network. Raises InputError where the painting
        of the last one is not."""
        visible = []
        for scale in self.scales:
            shape = scale.shape(*size)
            painting = round(self.stroke * min(shape))
            if min(*shape, painting) >= self._least:
                visible.append(scale)
        if self.scales[-1] not in visible:
            self._check_side((painting, painting), f"--style-scale {self.stroke:g}: a painting")
        return visible

    def _run(self, run: CoarseToFine, images: Tensor) -> None:
        """Run to the end, from where an earlier call of the same was killed."""
        assert self._stop is not None
        stop = self._stop
        fingerprint = self._fingerprint(run, images)
        self._states.append(self.unfinished / fingerprint[:16])
        costs = [
            EVALUATION + prod(scale.shape(*_size(images)))
            for scale in run.scales
            for _ in range(scale.evaluations)
        ]
        settings = LoopSettings(
            run.evaluations,
            ("evaluation", "evaluations"),
            save_seconds=SAVE_EVERY_SECONDS,
            work=[0, *accumulate(costs)].__getitem__,
        )
        loop = TrainingLoop(
            run,
            settings,
            Checkpoint(self._states[-1], fingerprint),
            lambda: stop.reason,
        )
        loop.restore(self.device)
        loop.run(str(self.source), run.step)

    def _fingerprint(self, run: CoarseToFine, images: Tensor) -> str:
        """Digest of all that the result follows from."""
        choices = [self.choices, self.finest, run.scales, self.stroke, str(self.device)]
        digest = hashlib.sha256(repr([*self._origin, *choices]).encode())
        for tensor in (images, self.painting):
            digest.update(f"{tensor.dtype}{list(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()


def _painting(path: Path, shown: float) -> Tensor:
    """A painting [3, H, W], divided by a whole number where it is much larger than it is `shown`,
    in pixels along the shorter side. Raises InputError for what is no image."""
    side = max(PAINTING_SIDE, round(shown) + 2 * MARGIN)
    image = open_image(path, at_least=side, shorter=side)
    if image.mode in ("L", "RGB", "RGBA", "CMYK"):
        image = image.reduce(max(1, min(image.size) // side))
    rgb, alpha = image_tensors(image)
    return rgb if alpha is None else on_white(rgb, alpha)


def _sources() -> list[Path]:
    """Code that decides the result's bits: nothing goes on from a state of other code."""
    beside = [Path(str(module.__file__)) for module in (losses, image_tools, enlarging, colours)]
    return [*sorted(Path(optimise.__path__[0]).rglob("*.py")), *beside]


def _size(images: Tensor) -> Size:
    height, width = images.shape[-2:]
    return height, width


def _text(size: Size) -> str:
    """A size as people write it, the width first."""
    return f"{size[1]}x{size[0]}"


def _memory_ran_out(problem: BaseException) -> bool:
    """Whether an error is of memory: of a type of its own on a GPU, a RuntimeError on a CPU."""
    kinds = (MemoryError, NoRoomError, torch.OutOfMemoryError)
    return isinstance(problem, kinds) or any(text in str(problem) for text in NO_MEMORY)
