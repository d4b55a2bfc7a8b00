"""The console command `triptych stylize`."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor

    from triptych.style.video.transfer import Stylist
    from triptych.style.work_list import Item

DESCRIPTION = """\
Paint photographs and videos in a style.

With a trained network (the default) an image takes a second or less; its own size is kept,
however large. With --optimize the image itself is optimised towards a painting of your choice
(Gatys et al. 2016), which takes minutes.
"""

EXAMPLES = """\
examples:
  triptych stylize --networks
  triptych stylize photo.jpg --style swirls -o painted.jpg
  triptych stylize holiday/ clip.mp4 --style mosaic -o painted/
  triptych stylize photo.jpg --style candy.pth -o painted.png --keep-colours
  triptych stylize photo.jpg --optimize --style starry_night.jpg -o painted.png --size 512

A result may replace an earlier one, but never an input. An input that cannot be used is
reported at the end, with exit code 2; the others are done all the same.
"""

FAILURES = (InputError, OSError, RuntimeError, MemoryError)
"""What ends one input's work, not the others'; a GPU's lack of memory is a RuntimeError."""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    parser = commands.add_parser(
        "stylize",
        help="paint photographs and videos in a style",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "inputs", nargs="*", type=Path, metavar="INPUT", help="an image, a video, or a folder"
    )
    parser.add_argument(
        "--style",
        metavar="NAME|FILE",
        help="a network's name (see --networks) or file (safetensors, or pytorch/examples' .pth); "
        "with --optimize a painting's file, or swirls, waves or mosaic",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="a file for one input, else a folder"
    )
    parser.add_argument(
        "--networks", action=_Networks, help="list the networks that there are, and stop"
    )
    parser.add_argument(
        "--size", type=_positive, metavar="PIXELS", help="first resize the shorter side to this"
    )
    parser.add_argument(
        "--keep-colours",
        action="store_true",
        help="take only lightness from the result, colours from the input",
    )
    parser.add_argument(
        "--strength",
        type=_part,
        default=1.0,
        help="of the result against the input, 0 to 1 (default: %(default)s)",
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s"
    )
    network = parser.add_argument_group("with a network")
    network.add_argument(
        "--precision",
        choices=("auto", "float32", "bf16", "fp16"),
        default="auto",
        help="auto takes bf16 or fp16 where the device gains, and prints the error (default: auto)",
    )
    network.add_argument(
        "--memory",
        metavar="BYTES",
        help="for the whole process, such as 2GB; large images are worked in tiles, without seams "
        "(default: what is free)",
    )
    network.add_argument(
        "--batch",
        type=_positive,
        default=8,
        help="images of one size, or frames, at once (default: %(default)s)",
    )
    optimise = parser.add_argument_group("with --optimize")
    optimise.add_argument(
        "--optimize", action="store_true", help="optimise each image (Version 1 of the paper)"
    )
    optimise.add_argument(
        "--preset",
        choices=("tuned", "paper", "authors"),
        default="tuned",
        help="layers, losses and rates (default: %(default)s)",
    )
    optimise.add_argument(
        "--evaluations", type=_positive, default=200, help="of the loss (default: %(default)s)"
    )
    optimise.add_argument(
        "--backbone",
        type=Path,
        metavar="FILE",
        help="weights as the workflow keeps them, such as results/style/weights/vgg19.safetensors "
        "(default: the narrow VGG that Triptych ships)",
    )
    parser.set_defaults(run=_stylize)


class _Networks(argparse.Action):
    """Lists the networks as --version tells the version: nothing else is asked for."""

    def __init__(self, option_strings: Any, dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *others: object) -> None:
        from triptych.style.catalogue import catalogue, described

        rows = []
        for entry in catalogue():
            try:
                rows.append(described(entry))
            except (InputError, OSError) as problem:
                print(f"{parser.prog}: {problem}", file=sys.stderr)
        if rows:
            print(f"{'name':<24}{'origin':<22}{'batches':>8}{'width':>7}  file")
        else:
            print("there are no networks yet: make demo trains one")
        for row in rows:
            print(
                f"{row['name']:<24}{row['origin']:<22}{row['batches']!s:>8}{row['width']:>7}"
                f"  {row['file']}"
            )
        parser.exit()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def _part(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def _stylize(options: argparse.Namespace) -> int:
    for given, name in ((options.inputs, "an INPUT"), (options.style, "--style")):
        if not given:
            raise InputError(f"{name} is missing; see triptych stylize --help")
    if options.output is None:
        raise InputError("-o is missing: where shall the result go?")
    from triptych.style.work_list import work_list

    items = work_list(options.inputs, options.output)
    if options.optimize and any(item.kind == "video" for item in items):
        raise InputError("--optimize is for images: a video would take days, and flicker")
    if options.size and any(item.kind == "video" for item in items):
        raise InputError("--size is for images; videos keep their size")
    _set_up_logging()
    from triptych.core.allocation import keep_freed_memory

    keep_freed_memory()
    painter = (_Optimiser if options.optimize else _Network)(options)
    failures = painter.work(items)
    for source, problem in failures:
        said = problem if problem.startswith(str(source)) else f"{source}: {problem}"
        print(f"triptych stylize: {said}", file=sys.stderr)
    if failures:
        done = len(items) - len(failures)
        print(f"triptych stylize: {done} of {len(items)} inputs done", file=sys.stderr)
    return 2 if failures else 0


@dataclass(frozen=True)
class _Photograph:
    """An image that was read, and resized if that was asked for."""

    item: "Item"
    rgb: "Tensor"
    alpha: "Tensor | None"


class _Painter:
    """Takes images through `render`; what fails is kept for the end."""

    batch = 1

    def __init__(self, options: argparse.Namespace) -> None:
        from triptych.core.device import choose_device

        self.options = options
        try:
            self.device = choose_device(options.device)
        except ValueError as problem:
            raise InputError(str(problem)) from problem

    def render(self, images: "Tensor") -> "Tensor":
        raise NotImplementedError

    def work(self, items: "list[Item]") -> list[tuple[Path, str]]:
        """Stylise and write every item; the sources that failed, and why."""
        failures: list[tuple[Path, str]] = []
        for item in (item for item in items if item.kind == "video"):
            try:
                self.film(item)
                print(f"{item.source} -> {item.target}", flush=True)
            except FAILURES as problem:
                failures.append((item.source, str(problem)))
        images = [item for item in items if item.kind == "image"]
        if images:
            self._work_images(images, failures)
        return failures

    def film(self, item: "Item") -> None:
        raise NotImplementedError

    def _work_images(self, items: "list[Item]", failures: list[tuple[Path, str]]) -> None:
        from triptych.core.progress import Progress
        from triptych.style.images import write_image

        with Progress("stylised", len(items), "images") as progress:
            for group in _alike(self._read(items, failures), self.batch):
                try:
                    results = self.finished(_stacked([each.rgb for each in group]))
                except FAILURES as problem:
                    failures += [(each.item.source, str(problem)) for each in group]
                    continue
                for each, result in zip(group, results, strict=True):
                    try:
                        write_image(each.item.target, result, each.alpha)
                        print(f"{each.item.source} -> {each.item.target}", flush=True)
                    except FAILURES as problem:
                        failures.append((each.item.source, str(problem)))
                    progress.advance()

    def finished(self, originals: "Tensor") -> "Tensor":
        """Rendered images with the colours and in the strength that were asked for."""
        from triptych.style.stylize import keep_colours

        originals = originals.to(self.device)
        results = self.render(originals)
        if self.options.keep_colours:
            results = keep_colours(originals, results)
        if self.options.strength < 1:
            results = originals.lerp(results, self.options.strength)
        return results.cpu()

    def _read(
        self, items: "Iterable[Item]", failures: list[tuple[Path, str]]
    ) -> Iterator[_Photograph]:
        from triptych.style.images import read_image_alpha, resize, resize_to

        for item in items:
            try:
                rgb, alpha = read_image_alpha(item.source)
                if self.options.size:
                    rgb = resize(rgb, self.options.size)
                    if alpha is not None:
                        alpha = resize_to(alpha, *rgb.shape[-2:])
                yield _Photograph(item, rgb, alpha)
            except FAILURES as problem:
                failures.append((item.source, str(problem)))


class _Network(_Painter):
    """A trained network: one pass an image."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        from triptych.style.catalogue import network_named
        from triptych.style.fast import PreparedNetwork
        from triptych.style.memory import parse_bytes, resident_memory
        from triptych.style.stylize import fastest_precision

        limit = parse_bytes(options.memory) if options.memory else None
        network, _, sentence = network_named(options.style)
        precision = options.precision
        if precision == "auto":
            precision = fastest_precision(self.device)
        self.batch = options.batch
        self.network = network.to(self.device)
        self.prepared = PreparedNetwork(self.network, precision)
        self.told = precision == "float32"
        self.limit = None if limit is None else limit - resident_memory()
        print(sentence, file=sys.stderr)

    def render(self, images: "Tensor") -> "Tensor":
        from triptych.style.stylize import stylise

        self._tell_error(images)
        if self.limit is None:
            return stylise(self.prepared, images)
        # The images as read, as stacked and as floats of the result.
        allowed = max(0.0, self.limit - 3 * images.nbytes)
        return stylise(self.prepared, images, memory_bytes=allowed)

    def film(self, item: "Item") -> None:
        from triptych.style.video.transfer import stylise_to_mp4

        stylise_to_mp4(item.source, item.target, self._stylist(), self.batch)

    def _stylist(self) -> "Stylist":
        import torch

        from triptych.style.images import to_bytes

        def stylist(frames: "np.ndarray") -> "np.ndarray":
            images = torch.from_numpy(frames).permute(0, 3, 1, 2).float().div_(255)
            return to_bytes(self.finished(images)).permute(0, 2, 3, 1).contiguous().numpy()

        return stylist

    def _tell_error(self, images: "Tensor") -> None:
        """Once, what half precision costs, on the first image or the middle of a large one."""
        if self.told:
            return
        self.told = True
        from triptych.style.stylize import precision_error

        height, width = images.shape[-2:]
        top, left = max(0, height - 512) // 2, max(0, width - 512) // 2
        part = images[0, :, top : top + 512, left : left + 512]
        error = precision_error(self.network, part, self.prepared.precision)
        print(f"precision {self.prepared.precision}: {error}", file=sys.stderr)


class _Optimiser(_Painter):
    """Version 1: each image is optimised towards a painting."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        from triptych.style.backbones.backbone import load_backbone
        from triptych.style.catalogue import CHECKOUT
        from triptych.style.optimisation.presets import preset

        self.painting = _painting(options.style)
        path = options.backbone or CHECKOUT / "resources/style/narrow_vgg.safetensors"
        if not path.is_file():
            raise InputError(f"{path}: there is no such backbone; give --backbone FILE")
        architecture = load_backbone(path, pooling="average").architecture.name
        # A photograph keeps its shape, whatever the preset made of the paper's squares.
        self.choices = preset(options.preset, architecture, aspect="kept")
        backbone = load_backbone(path, pooling=self.choices.pooling).to(self.device)
        self.backbone = _calibrated(backbone, self.device) if self.choices.normalised else backbone
        print(
            f"{options.evaluations} evaluations of {architecture} ({path}), "
            f"preset {options.preset}",
            file=sys.stderr,
        )

    def render(self, images: "Tensor") -> "Tensor":
        from triptych.core.progress import Progress
        from triptych.style.images import resize
        from triptych.style.optimisation.gatys import FINISHED, optimise

        painting = resize(self.painting, min(images.shape[-2:])).to(self.device)
        with Progress("evaluated", self.options.evaluations, "times") as progress:
            done = optimise(
                images,
                painting[None],
                self.backbone,
                self.choices,
                self.options.evaluations,
                seeds=[0],
                after_evaluation=lambda _: progress.advance(),
            )
        if done.statuses[0] != FINISHED:
            print(
                f"triptych stylize: stopped, {done.reasons[0]}; the last good image is written",
                file=sys.stderr,
            )
        return done.images


def _painting(style: str) -> "Tensor":
    """The painting of a file, or a generated one by name."""
    from triptych.style.images import read_image
    from triptych.style.paintings.paint import PAINTINGS, paint

    if style in PAINTINGS and not Path(style).is_file():
        return paint(style, (512, 512), seed=0)
    if not Path(style).is_file():
        raise InputError(
            f"{style} is no file; with --optimize give a painting's, or {', '.join(PAINTINGS)}"
        )
    return read_image(style)


def _calibrated(backbone: Any, device: "torch.device") -> Any:
    """The backbone normalised to mean activation one on the bundled photographs."""
    import torch

    from triptych.style.backbones.backbone import normalised
    from triptych.style.inputs.photographs import embedded_photographs
    from triptych.style.inputs.prepare import bundled, fitted

    images = torch.stack([fitted(bundled(name), 256, 256) for name in embedded_photographs()])
    return normalised(backbone, (part.to(device) for part in images.split(8)))


def _alike(photographs: Iterable[_Photograph], most: int) -> Iterator[list[_Photograph]]:
    """Neighbours of one size together, at most so many."""
    group: list[_Photograph] = []
    for photograph in photographs:
        if group and (len(group) == most or photograph.rgb.shape != group[0].rgb.shape):
            yield group
            group = []
        group.append(photograph)
    if group:
        yield group


def _stacked(images: "list[Tensor]") -> "Tensor":
    """[N, 3, H, W]; of one image, which may be large, no copy."""
    import torch

    return images[0][None] if len(images) == 1 else torch.stack(images)


def _set_up_logging() -> None:
    import logging

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
