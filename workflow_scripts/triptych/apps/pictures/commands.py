"""The console command `triptych stylize`."""

import argparse
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.apps import NOT_USED, add_device, add_quiet, command, output_path, show_progress
from triptych.apps.pictures import (
    ALL,
    EVALUATIONS,
    STEADY,
    shipped_paintings,
    shipped_styles,
    unfinished_folder,
)
from triptych.core.errors import InputError, between, positive

if TYPE_CHECKING:
    from triptych.apps.pictures.work_list import Item
    from triptych.core.progress import Progress

DESCRIPTION = (
    """\
Paint photographs and videos in a style.

By default a trained network paints an image in a second or less, at its own size. --optimize paints
better: the image itself is optimised towards a painting of your choice (Gatys et al. 2016), which
takes a minute or two.

"""
    + NOT_USED
)

logger = logging.getLogger(__name__)

EXAMPLES = """\
examples:
  triptych stylize --networks
  triptych stylize photo.jpg --style all -o sheet.jpg
  triptych stylize photo.jpg --style swirls -o painted.jpg
  triptych stylize holiday/ clip.mp4 --style swirls -o painted/
  triptych stylize photo.jpg --style candy.pth -o painted.png --keep-colours
  triptych stylize photo.jpg --optimize --style starry_night.jpg -o painted.png --size 512

--optimize saves its state beside the result (painted.png.unfinished): after a kill the same command
continues from there.
"""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "paint photographs and videos in a style"
    parser = command(commands, "stylize", _stylize, summary, DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "inputs", nargs="*", type=Path, metavar="INPUT", help="image, video, or folder of them"
    )
    parser.add_argument(
        "--style",
        metavar="NAME|FILE",
        help=f"style of a network: {', '.join(shipped_styles())}, another network's name (see "
        "--networks) or its file (safetensors, or .pth of pytorch/examples); a:2+b:1 mixes styles "
        f"by weights; {ALL} makes one sheet of the photograph in every style. With --optimize a "
        f"painting's file, or {', '.join(shipped_paintings())}",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_path,
        metavar="OUT",
        help="output file for one input, else a folder. Pictures: .png, .jpg, .webp or .tif; "
        "films: .mp4. Transparent parts are painted on white and stay transparent, but in .jpg",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace files that lie where results go (default: refuse, or number results)",
    )
    parser.add_argument("--networks", action="store_true", help="list the networks and exit")
    parser.add_argument(
        "--size",
        type=_pixels,
        metavar="PIXELS",
        help="resize pictures first: pixels of the shorter side; films keep their size",
    )
    parser.add_argument(
        "--style-scale",
        type=between(0.01, 100),
        default=1.0,
        metavar="S",
        help="size of the painting relative to the photograph, along their shorter sides; larger "
        "values make larger strokes. A network paints a large photograph at a smaller size, and "
        "the result is enlarged with the photograph's detail (default: 1)",
    )
    parser.add_argument(
        "--keep-colours",
        action="store_true",
        help="keep the input's colours; take only lightness from the result",
    )
    parser.add_argument(
        "--strength",
        type=between(0, 1),
        default=1.0,
        help="share of the result against the input, 0 to 1 (default: 1)",
    )
    add_device(parser)
    add_quiet(parser)
    _add_network_options(parser)
    optimisation = parser.add_argument_group("with --optimize")
    optimisation.add_argument(
        "--optimize", action="store_true", help="optimise each image (Version 1 of the paper)"
    )
    optimisation.add_argument(
        "--evaluations",
        type=_counts,
        metavar="N[,N...]",
        help="loss evaluations at each scale, coarse to fine, each half the size of the next "
        f"(default: {','.join(map(str, EVALUATIONS))})",
    )


def _add_network_options(parser: argparse.ArgumentParser) -> None:
    """Add what a trained network takes and --optimize ignores."""
    network = parser.add_argument_group("with a network")
    network.add_argument(
        "--steady",
        type=between(0, 1),
        metavar="S",
        help="keep this share of the fine strokes of a film's frame before, moved along with the "
        f"film, 0 to 1; 0 paints every frame by itself (default: {STEADY:g})",
    )
    network.add_argument(
        "--precision",
        choices=("auto", "float32", "bf16", "fp16"),
        default="auto",
        help="precision of the network; auto: bf16 or fp16 where the device is faster with it, "
        "with the error printed (default: auto)",
    )


def _counts(text: str) -> list[int]:
    """The argparse type of evaluations: whole numbers with commas between them."""
    try:
        return [positive(count) for count in text.split(",")]
    except argparse.ArgumentTypeError as problem:
        raise argparse.ArgumentTypeError(
            f"{problem}; expected one for each scale, such as {','.join(map(str, EVALUATIONS))}"
        ) from None


def _pixels(text: str) -> int:
    """The argparse type of a side in pixels."""
    try:
        return positive(text)
    except argparse.ArgumentTypeError as problem:
        raise argparse.ArgumentTypeError(
            f"{problem}; expected the pixels of the shorter side alone, such as 480"
        ) from None


def _stylize(options: argparse.Namespace) -> int:
    if options.networks:
        from triptych.apps.pictures.catalogue import network_list

        for line in network_list():
            print(line)
        return 0
    required = {"an INPUT": options.inputs, "--style": options.style, "-o": options.output}
    for name, value in required.items():
        if not value:
            raise InputError(f"{name} is missing; see triptych stylize --help")
    if options.evaluations and not options.optimize:
        raise InputError("--evaluations needs --optimize: a trained network ignores it")
    if options.optimize and options.steady is not None:
        raise InputError("--steady is for films, and --optimize takes pictures alone")
    if options.optimize and options.precision != "auto":
        raise InputError("--precision is a network's: --optimize ignores it")
    from triptych.apps.pictures.work_list import work_list
    from triptych.core.progress import Progress

    listed = work_list(
        options.inputs,
        options.output,
        overwrite=options.overwrite,
        resumed=options.optimize and unfinished_folder(options.output).is_dir(),
    )
    _check_films(options, [item.source for item in listed.items if item.kind == "video"])
    show_progress(options)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _leave)
    if listed.earlier:
        logger.info(
            f"results of earlier calls in {options.output}, not painted again: "
            f"{len(listed.earlier)} (another -o would paint them)"
        )
    count = len(listed.items) + len(listed.left_out)
    with Progress("stylised", count, "inputs") as progress:
        progress.skip(len(listed.left_out))
        try:
            failures = listed.left_out + _worked(options, listed.items, progress)
        except KeyboardInterrupt:
            again = "goes on" if options.optimize else "begins again with the first"
            raise KeyboardInterrupt(
                f"{progress.done} of {count} inputs done, nothing unfinished is left; the same "
                f"call {again}"
            ) from None
    for source, problem in failures:
        message = problem if problem.startswith(str(source)) else f"{source}: {problem}"
        print(f"triptych stylize: {message}", file=sys.stderr)
    if failures:
        print(f"triptych stylize: {progress.done} of {count} inputs done", file=sys.stderr)
    return 2 if failures else 0


def _check_films(options: argparse.Namespace, films: list[Path]) -> None:
    """Raise InputError where films are among the inputs of what takes pictures alone, or none is
    of what takes films alone."""
    if not films and options.steady is not None:
        raise InputError("--steady is for films, and no input is one: leave it out")
    if not films:
        return
    named = f"the film {films[0]}{f' and {len(films) - 1} more' if len(films) > 1 else ''}"
    for option, problem in {
        "--optimize": options.optimize and "a film would take days, and flicker",
        "--size": options.size and "films keep their size",
        f"--style {ALL}": options.style == ALL and "a sheet shows pictures",
    }.items():
        if problem:
            raise InputError(
                f"{option} takes pictures alone ({problem}): leave out {named}, or {option}"
            )


def _worked(
    options: argparse.Namespace, items: "list[Item]", progress: "Progress"
) -> list[tuple[Path, str]]:
    """Paint all items; return those of which something failed, and why."""
    failures = []
    for quick in (True, False):
        if items:
            stylizer = _stylizer(options, items, quick)
            failures += stylizer.work(items, progress)
            items = stylizer.left
    return failures


def _leave(number: int, frame: object) -> None:
    """End by a signal as by an error, so that temporary files are deleted."""
    sys.exit(128 + number)


def _stylizer(options: argparse.Namespace, items: "list[Item]", quick: bool) -> Any:
    """The stylizer of these options; quick: one without PyTorch where it suits."""
    from triptych.apps.pictures import onnx_stylizer

    if options.style == ALL and not options.optimize:
        from triptych.apps.pictures.contact_sheets import ContactSheets

        return ContactSheets(options, lambda one: _stylizer(one, items, quick))
    if quick and onnx_stylizer.suits(options, items):
        return onnx_stylizer.OnnxStylizer(options)
    return _by_pytorch(options)


def _by_pytorch(options: argparse.Namespace) -> Any:
    """The stylizer for videos, GPUs, half precision, and --optimize."""
    from triptych.apps.pictures.network_stylizer import NetworkStylizer
    from triptych.apps.pictures.optimising_stylizer import OptimisingStylizer
    from triptych.core.memory import keep_freed_memory

    keep_freed_memory()
    return OptimisingStylizer(options) if options.optimize else NetworkStylizer(options)
