"""Version 1 for people's own images: optimised as large as the memory allows."""

import argparse
import gc
import hashlib
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from triptych.apps.pictures.catalogue import backbone_file
from triptych.apps.pictures.memory_plan import Needs, Size, told
from triptych.apps.pictures.optimising_options import EVALUATIONS, EVALUATIONS_BY_ADAM, changes
from triptych.apps.pictures.paintings import paintings
from triptych.apps.pictures.stylizer import Stylizer
from triptych.apps.pictures.work_list import Item
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_precision
from triptych.core.files import sha256_of
from triptych.core.memory import NoRoomError, return_freed_memory
from triptych.core.stopping import Stop, Stopped, listening
from triptych.core.training_loop import LoopSettings, TrainingLoop
from triptych.style import optimise
from triptych.style.data import colours, enlarging
from triptych.style.data import images as image_tools
from triptych.style.data.backbone import load_backbone
from triptych.style.network.memory import free_memory, parse_bytes, readable, resident_memory
from triptych.style.optimise.presets import TUNED_POOLING, preset
from triptych.style.optimise.scales import CoarseToFine, Scale, refining, scales
from triptych.style.optimise.styles import Painting

NO_MEMORY = ("can't allocate memory", "could not create a", "could not execute a primitive")
"""PyTorch's words, and those of oneDNN, which tells no reason."""

MARGIN = 12
"""Pixels beyond each edge that are optimised and cut off."""

SAVE_EVERY_SECONDS = 60.0
"""What a kill may cost."""


class Unfinished:
    """The states of one call's images, in a folder beside its result or folder of results.

    Each is named by a digest of all that its result follows from, and goes when the call ends.
    """

    def __init__(self, output: Path) -> None:
        whole = output.resolve()
        self.folder = whole.with_name(f"{whole.name}.unfinished")
        self._used: list[Path] = []

    def checkpoint(self, fingerprint: str) -> Checkpoint:
        """Where an image's state is kept."""
        folder = self.folder / fingerprint[:16]
        self._used.append(folder)
        return Checkpoint(folder, fingerprint)

    def remove(self) -> None:
        """What this call made; another's states stay, and the folder with them."""
        for folder in self._used:
            shutil.rmtree(folder, ignore_errors=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


class OptimisingStylizer(Stylizer):
    """Version 1: each image is optimised towards a painting, or several, coarse to fine."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        limit = parse_bytes(options.memory) if options.memory else None
        self.style = paintings(options)
        self.stroke = options.style_scale or 1.0
        path = backbone_file(options.backbone)
        self.backbone = load_backbone(path, pooling=TUNED_POOLING).to(self.device)
        architecture = self.backbone.architecture
        precision = choose_precision("auto", self.device, "unscaled")
        self.choices = preset("tuned", architecture.name, precision=precision, **changes(options))
        self.finest, usual = refining(self.choices), EVALUATIONS
        if any(layer.stride > 1 for layer in architecture.convolutions.values()):
            self.finest, usual = self.choices, EVALUATIONS_BY_ADAM
        self.scales = scales(options.evaluations or usual)
        self.sizes = Needs(architecture, self.finest, _longest(self.style), self.stroke)
        for each in self.style:
            self.sizes.check(_size(each.image), f"{options.style}: a painting")
        self.limit = None if limit is None else limit - resident_memory()
        self.unfinished = Unfinished(options.output)
        self._origin = [sha256_of(path), *map(sha256_of, _sources()), torch.__version__]
        self._stop: Stop | None = None
        self._source = Path()
        print(f"{architecture.name} ({path})", file=sys.stderr)

    def work(self, items: list[Item]) -> list[tuple[Path, str]]:
        """As `Stylizer.work`; raises Stopped by a signal, after saving what was done."""
        with listening() as self._stop:
            try:
                failures = super().work(items)
            except Stopped as stopped:
                print(
                    f"{stopped.reason}: {self.unfinished.folder} holds what was done; the same "
                    "command goes on from there, or delete it",
                    file=sys.stderr,
                )
                raise
        self.unfinished.remove()
        return failures

    def paint(self, item: Item) -> None:
        """As `Stylizer.paint`."""
        self._source = item.source  # what messages name
        super().paint(item)

    def render(self, images: Tensor) -> Tensor:
        """An image [1, 3, H, W] optimised, in tiles where memory lacks.

        It is reflected beyond its edges, which the network's zeros would darken. Where memory runs
        out all the same, it is tried with three quarters of what that took; raises InputError where
        that is too little.
        """
        given = _size(images)
        self.sizes.check(given, "an image")
        margin = min(MARGIN, min(given) - 1)
        images = functional.pad(images, (margin,) * 4, mode="reflect")
        size = _size(images)
        at_hand = 0.8 * free_memory(self.device) if self.limit is None else self.limit
        while True:
            side = self.sizes.side(size, at_hand)
            if side:
                print(
                    f"{self._source}: {told(given)} pixels don't fit in {readable(at_hand)} as one "
                    f"image: worked in tiles of {side} pixels, exactly",
                    file=sys.stderr,
                )
            try:
                found = self._optimised(images, side)
                return found[..., margin : size[0] - margin, margin : size[1] - margin]
            except (RuntimeError, MemoryError, NoRoomError) as problem:
                if not _memory_ran_out(problem):
                    raise
            # Behind the handler: the error held what had been computed.
            gc.collect()
            return_freed_memory()
            at_hand = 0.75 * self.sizes.bytes(size, side)
            print(f"{self._source}: the memory ran out, less is tried", file=sys.stderr)

    def _optimised(self, images: Tensor, side: int | None) -> Tensor:
        style = [each.to(self.device) for each in self.style]
        main = max(style, key=lambda painting: painting.weight)
        # Else dark parts would keep the photograph's colours.
        begun = torch.stack([colours.in_colours_of(image, main.image) for image in images])
        through = self._through(_size(images))
        steps = [f"{each.evaluations} at {told(each.shape(*_size(images)))}" for each in through]
        print(f"{self._source}: evaluations {', '.join(steps)} pixels", file=sys.stderr)
        run = CoarseToFine(
            images,
            begun,
            style,
            self.backbone,
            self.choices,
            through,
            stroke=self.stroke,
            side=side,
            finest=self.finest,
        )
        self._run(run, images, side)
        for reason in run.reasons:
            print(f"{self._source}: stopped {reason}", file=sys.stderr)
        if len(style) > 1 or main.mask is not None:
            return run.images
        return torch.stack([colours.with_moments_of(image, main.image) for image in run.images])

    def _through(self, size: Size) -> list[Scale]:
        """The scales of which the network sees something; raises InputError for the last one's
        painting."""
        seen = []
        for scale in self.scales:
            shape = scale.shape(*size)
            painting = round(self.stroke * min(shape))
            if min(*shape, painting) >= self.sizes.least:
                seen.append(scale)
        if self.scales[-1] not in seen:
            self.sizes.check((painting, painting), f"--style-scale {self.stroke:g}: a painting")
        return seen

    def _run(self, run: CoarseToFine, images: Tensor, side: int | None) -> None:
        """To its end, from where an earlier call of the same was killed."""
        assert self._stop is not None
        stop, tensors = self._stop, [images]
        for each in self.style:
            tensors += [each.image, *([] if each.mask is None else [each.mask])]
        texts = [
            *(self._origin, self.choices, self.finest, side, run.scales),
            *(self.stroke, str(self.device)),
            [each.weight for each in self.style],
        ]
        loop = TrainingLoop(
            run,
            LoopSettings(
                run.evaluations, ("evaluation", "evaluations"), save_seconds=SAVE_EVERY_SECONDS
            ),
            self.unfinished.checkpoint(_digest(texts, tensors)),
            lambda: stop.reason,
        )
        loop.restore(self.device)
        loop.run(str(self._source), run.step)


def _longest(style: Sequence[Painting]) -> Size:
    """Of the painting that is largest when all have one shorter side."""
    return max((_size(each.image) for each in style), key=lambda size: max(size) / min(size))


def _sources() -> list[Path]:
    """Code of which the optimisation's bits are made: nothing goes on from what other code kept."""
    beside = [Path(str(module.__file__)) for module in (image_tools, enlarging, colours)]
    return [*sorted(Path(optimise.__path__[0]).glob("*.py")), *beside]


def _size(images: Tensor) -> Size:
    height, width = images.shape[-2:]
    return height, width


def _memory_ran_out(problem: BaseException) -> bool:
    """On a GPU PyTorch says so with a type of its own, on a CPU with a RuntimeError of a text."""
    kinds = (MemoryError, NoRoomError, torch.OutOfMemoryError)
    return isinstance(problem, kinds) or any(text in str(problem) for text in NO_MEMORY)


def _digest(texts: Iterable[object], tensors: Iterable[Tensor]) -> str:
    """Of what a result follows from: reprs and values."""
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{text!r}\n".encode())
    for tensor in tensors:
        found.update(f"{tensor.dtype}{list(tensor.shape)}".encode())
        found.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()
