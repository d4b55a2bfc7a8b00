"""The console command `triptych`: what the workflow made, put to use.

Commands stand with the study that they belong to; what takes long to import is imported when
a command runs, so that --help is instant.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from triptych import doctor
from triptych.core.errors import InputError
from triptych.gpu import commands as gpu
from triptych.init import commands as init
from triptych.plan import commands as plan
from triptych.report import commands as report
from triptych.studies import NAMES

DESCRIPTION = "Put to use what the workflow made under results/."

EXAMPLES = """\
examples:
  paint photographs and videos in a style:
    triptych stylize photo.jpg --style swirls -o painted.jpg

  find your own recordings by a description (with the small model, or a better one):
    triptych index ~/sounds
    triptych search "rain on a tin roof" --index ~/sounds/triptych-index.npz

  write what acts of one pruned policy, packed to a small part of the size of its dense arrays
  and as ONNX, and beside it what acts with the packed file elsewhere (numpy alone, C):
    triptych policy export results/rl/hopper/narrow/bcq-all/policies.safetensors \\
        --method snip --sparsity 95 --seed 0 -o hopper.tpk

  measure how fast it acts, in dense and in sparse kernels:
    triptych policy bench hopper.tpk

Policies of your own work as well: safetensors with plain float32 arrays in torch's layout,
named like actor.l1.weight. `triptych COMMAND --help` says more; docs/packed-format.md
specifies the packed file.
"""


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
    parser.add_argument("--version", action=_Version, help="print the version and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    for name in NAMES:
        if find_spec(f"triptych.{name}.commands"):
            import_module(f"triptych.{name}.commands").add_commands(commands)
    init.add_commands(commands)
    plan.add_commands(commands)
    gpu.add_commands(commands)
    report.add_commands(commands)
    doctor.add_commands(commands)
    return parser


def _paint(name: str) -> Any:
    """The demo's painting of that name, RGB in [0, 1], [512, 512, 3]: no study knows the demo.

    Raises InputError where there is none.
    """
    from triptych.demo.paintings.paint import PAINTINGS, paint

    if name not in PAINTINGS:
        raise InputError(
            f"{name} is no file; with --optimize give a painting's, or {', '.join(PAINTINGS)}"
        )
    return paint(name, (512, 512), seed=0)


def _picture(size: int, *key: int) -> Any:
    """The demo's picture by chance, uint8 [size, size, 3]."""
    from triptych.demo.pictures import picture

    return picture(size, *key)


class _Version(argparse.Action):
    """Looks the version up only when asked."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *others: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"triptych {version('triptych')}")
        except PackageNotFoundError:
            print("triptych (not installed as a package: run make demo or pip install .)")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
