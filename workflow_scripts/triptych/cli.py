"""The console command `triptych`: what the workflow made, put to use.

What takes long to import is imported when a command runs, so that --help is instant.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from triptych.apps import compare, doctor, init, plan, policy, verify, weights
from triptych.apps.pictures import commands as pictures
from triptych.apps.sounds import commands as sounds
from triptych.core.errors import InputError

DESCRIPTION = "Put to use what the workflow made under results/."

EXAMPLES = """\
examples:
  paint photographs and videos in a style:
    triptych stylize photo.jpg --style swirls -o painted.jpg

  find your own recordings by a description (with the small model, or a better one):
    triptych index ~/sounds
    triptych search "rain on a tin roof" --index ~/sounds/triptych-index.npz

  write what acts of one pruned policy, packed and as ONNX, and beside it what acts with it:
    triptych policy export results/rl/hopper/narrow/bcq-all/policies.safetensors \\
        --method snip --sparsity 95 --seed 0 -o hopper.tpk

`triptych COMMAND --help` says more.
"""


PAINTINGS = Path(__file__).resolve().parents[2] / "resources" / "style" / "paintings"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code (2 for input that cannot be used)."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files may hold bytes that are no text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return int(options.run(options))
    except (InputError, OSError) as problem:
        print(f"triptych {options.command}: {problem}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="triptych",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(paint=_paint, picture=_picture)
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for app in (pictures, sounds, policy, init, weights, plan, verify, compare, doctor):
        app.add_commands(commands)
    return parser


def _paint(name: str) -> Any:
    """The painting of that name which the repository ships, RGB in [0, 1], [512, 512, 3].

    Raises InputError where there is none.
    """
    from triptych.style.data.images import read_image

    shipped = {path.stem: path for path in sorted(PAINTINGS.glob("*.png"))}
    if name not in shipped:
        raise InputError(
            f"{name} is no file; with --optimize give a painting's, or {', '.join(shipped)}"
        )
    return read_image(shipped[name]).permute(1, 2, 0).numpy()


def _picture(size: int, *key: int) -> Any:
    """The demo's picture by chance, uint8 [size, size, 3]."""
    from triptych.demo.pictures import picture

    return picture(size, *key)


def _version() -> str:
    try:
        return f"triptych {version('triptych')}"
    except PackageNotFoundError:
        return "triptych (not installed as a package: run make demo or pip install .)"


if __name__ == "__main__":
    sys.exit(main())
