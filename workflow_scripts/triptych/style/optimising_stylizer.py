"""Version 1 for people's own images: optimised as large as the memory allows."""

import argparse
import gc
import os
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from triptych.core.errors import InputError
from triptych.core.memory import return_freed_memory
from triptych.core.portion import NoRoomError
from triptych.core.progress import Progress
from triptych.style import catalogue
from triptych.style.backbones.backbone import Backbone, load_backbone, normalised
from triptych.style.enlarging import enlarged
from triptych.style.feedforward.memory import free_memory, parse_bytes, readable, resident_memory
from triptych.style.images import read_image, resize, resize_to
from triptych.style.inputs.photographs import embedded_photographs
from triptych.style.inputs.prepare import bundled, fitted
from triptych.style.inputs.weights import weights_named
from triptych.style.optimisation.gatys import FINISHED, optimise
from triptych.style.optimisation.memory_plan import FIXED, MemoryPlan, Needs, Size, told
from triptych.style.optimisation.presets import preset
from triptych.style.stylizer import Photograph, Stylizer
from triptych.style.work_list import Item

NETWORKS = {".safetensors", ".pth", ".pt", ".model"}
"""Suffixes of files that no painting bears."""

NO_MEMORY = ("can't allocate memory", "could not create a", "could not execute a primitive")
"""PyTorch's words, and those of oneDNN, which tells no reason."""


class OptimisingStylizer(Stylizer):
    """Version 1: each image is optimised towards a painting."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        limit = parse_bytes(options.memory) if options.memory else None
        self.painting = _painting(options)
        path = _backbone_file(options.backbone)
        architecture = load_backbone(path, pooling="average").architecture
        # A photograph keeps its shape, whatever the preset made of the paper's squares.
        self.choices = preset(options.preset, architecture.name, aspect="kept")
        self.sizes = Needs(architecture, self.choices, _size(self.painting))
        self.sizes.check(_size(self.painting), f"{options.style}: a painting")
        backbone = load_backbone(path, pooling=self.choices.pooling).to(self.device)
        self.backbone = _calibrated(backbone, self.device) if self.choices.normalised else backbone
        self.limit = None if limit is None else limit - resident_memory()
        if self.limit is not None and self.limit < FIXED:
            raise InputError(
                f"--memory {options.memory}: the program alone takes "
                f"{readable(resident_memory())}, before any image. Give it more."
            )
        self._source = Path()
        print(
            f"{options.evaluations} evaluations of {architecture.name} ({path}), "
            f"preset {options.preset}",
            file=sys.stderr,
        )

    def _finish(self, group: list[Photograph], failures: list[tuple[Path, str]]) -> None:
        self._source = group[0].item.source  # what messages name
        super()._finish(group, failures)

    def _animate(self, item: Item) -> None:
        self._source = item.source
        super()._animate(item)

    def render(self, images: Tensor) -> Tensor:
        """Images [N, 3, H, W] optimised at H x W, or smaller and enlarged where memory lacks.

        Where it runs out all the same, half as much is tried; raises InputError where that is too
        little, or where images may not be enlarged.
        """
        size = _size(images)
        self.sizes.check(size, "an image")
        at_hand = 0.8 * free_memory(self.device) if self.limit is None else self.limit
        while True:
            plan = self.sizes.plan(size, at_hand, enlarge=self.options.on_large == "enlarge")
            self._tell(size, plan, at_hand)
            try:
                return self._optimised(images, plan)
            except (RuntimeError, MemoryError, NoRoomError) as problem:
                if not _memory_ran_out(problem):
                    raise
            # Behind the handler: the error held what had been computed.
            gc.collect()
            return_freed_memory()
            at_hand = plan.bytes / 2
            print(f"{self._source}: the memory ran out, less is tried", file=sys.stderr)

    def _tell(self, size: Size, plan: MemoryPlan, at_hand: float) -> None:
        """What the plan does to keep to the memory, if anything."""
        if plan.size == size and plan.way.side is None:
            return
        measures = []
        if plan.way.side:
            measures.append(f"worked in tiles of {plan.way.side} pixels, exactly")
        if plan.way.history < self.choices.history:
            measures.append(f"L-BFGS remembers {plan.way.history} steps")
        if plan.size != size:
            measures.append(
                f"optimised at {told(plan.size)}, then enlarged with the photograph's detail"
            )
        print(
            f"{self._source}: {told(size)} pixels don't fit in {readable(at_hand)} as one image: "
            f"{'; '.join(measures)}",
            file=sys.stderr,
        )

    def _optimised(self, images: Tensor, plan: MemoryPlan) -> Tensor:
        small = resize_to(images, *plan.size)
        painting = resize(self.painting, min(plan.size)).to(self.device)
        with Progress("evaluated", self.options.evaluations, "times") as progress:
            done = optimise(
                small,
                painting[None],
                self.backbone,
                replace(self.choices, history=plan.way.history),
                self.options.evaluations,
                seeds=[0],
                side=plan.way.side,
                after_evaluation=lambda _: progress.advance(),
            )
        if done.statuses[0] != FINISHED:
            print(
                f"{self._source}: stopped, {done.reasons[0]}; the last good image is written",
                file=sys.stderr,
            )
        return done.images if small is images else enlarged(done.images, small, images)


def _size(images: Tensor) -> Size:
    height, width = images.shape[-2:]
    return height, width


def _memory_ran_out(problem: BaseException) -> bool:
    """On a GPU PyTorch says so with a type of its own, on a CPU with a RuntimeError of a text."""
    kinds = (MemoryError, NoRoomError, torch.OutOfMemoryError)
    return isinstance(problem, kinds) or any(text in str(problem) for text in NO_MEMORY)


def _painting(options: argparse.Namespace) -> Tensor:
    """The painting of a file, or one that the command paints itself by that name."""
    style = options.style
    if not Path(style).is_file():
        return torch.from_numpy(options.paint(style)).permute(2, 0, 1)
    if Path(style).suffix.lower() in NETWORKS:
        raise InputError(
            f"{style} is a network, where a painting is expected: leave --optimize out to use it"
        )
    return read_image(style)


def _backbone_file(given: str | None) -> Path:
    """A backbone's file: the one that is named, one trained on ImageNet, or the shipped one."""
    if given is None:
        return catalogue.CHECKOUT / "resources/style/narrow_vgg.safetensors"
    if Path(given).is_file():
        return Path(given)
    if Path(given).suffix or os.sep in given:
        raise InputError(f"{given}: there is no such backbone; give --backbone FILE")
    return weights_named(given, catalogue.CHECKOUT)


def _calibrated(backbone: Backbone, device: torch.device) -> Backbone:
    """The backbone normalised to mean activation one on the bundled photographs."""
    images = [fitted(bundled(name), 256, 256)[None] for name in embedded_photographs()]
    return normalised(backbone, (image.to(device) for image in images))
