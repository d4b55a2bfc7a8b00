"""Commands that people run on their own files; no study imports them."""

import argparse
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.core.errors import InputError

if TYPE_CHECKING:
    import torch

PROGRESS = "triptych.core.progress"
"""The logger of progress."""

NOT_USED = """\
Inputs that cannot be read, or not to their end, are reported; the others are still processed, and
the exit code is 2.
"""


def check_workflow(folder: Path) -> None:
    """Raise InputError for a folder in which Snakemake would find nothing to run."""
    if not (folder / "Snakefile").is_file():
        raise InputError(
            f"there is no Snakefile in {folder.resolve()}: go to a checkout of Triptych, or begin "
            "a folder of your own by triptych init my-study"
        )


def command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    description: str,
    examples: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command to the subparsers of `triptych`, and return its parser.

    summary: what `triptych --help` says of it.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, summary=summary)
    return parser


def output_path(text: str) -> Path:
    """The argparse type of a path that is written; refuses what elsewhere means standard output."""
    if text in ("", "-"):
        raise argparse.ArgumentTypeError(f"{text!r} names no file or folder; ./- would be one")
    return Path(text)


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s"
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add the option for which `show_progress` shows none."""
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no progress and no remarks; errors are printed"
    )


def show_progress(options: argparse.Namespace) -> None:
    """Print what is logged from now on: remarks and progress, or with --quiet errors alone."""
    level = logging.ERROR if options.quiet else logging.INFO
    logging.basicConfig(level=level, format="%(message)s", stream=sys.stderr, force=True)
    logging.captureWarnings(True)
    if sys.stderr.isatty():  # where a bar says it
        logging.getLogger().handlers[0].addFilter(lambda record: record.name != PROGRESS)


def chosen_device(options: argparse.Namespace) -> "torch.device":
    """The device that --device names. Raises InputError for one that isn't there."""
    from triptych.core.device import choose_device

    try:
        return choose_device(options.device)
    except ValueError as problem:
        raise InputError(
            f"--device {options.device}: PyTorch finds no GPU here; leave --device out, or check "
            "the driver with nvidia-smi"
        ) from problem
