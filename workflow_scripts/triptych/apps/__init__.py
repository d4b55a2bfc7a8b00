"""What people run on their own files: the commands that belong to no study."""

import argparse
from collections.abc import Callable
from typing import Any


def command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    description: str,
    examples: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command to the subparsers of `triptych`, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where PyTorch computes."""
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s"
    )
