"""The console command `triptych`: what the workflow made, put to use.

What takes long to import is imported when a command runs, so that --help is instant.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from triptych.apps import compare, doctor, init, plan, policy, publish, verify, weights
from triptych.apps.pictures import commands as pictures
from triptych.apps.sounds import commands as sounds
from triptych.core.errors import InputError

DESCRIPTION = "Put to use what the workflow made under results/."

EXAMPLES = """\
examples:
  paint photographs and videos in a style:
    triptych stylize photo.jpg --style swirls -o painted.jpg

  find your own recordings by a description:
    triptych index ~/sounds
    triptych search "rain on a tin roof" --index ~/sounds

  write what acts of one pruned policy, packed and as ONNX, and beside it what acts with it:
    triptych policy export results/rl/hopper/narrow/bcq-all/policies.safetensors \\
        --method snip --sparsity 95 --seed 0 -o hopper.tpk
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
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for app in (pictures, sounds, policy, init, weights, plan, verify, publish, compare, doctor):
        app.add_commands(commands)
    return parser


def _version() -> str:
    try:
        return f"triptych {version('triptych')}"
    except PackageNotFoundError:
        return "triptych (not installed as a package: run make demo or pip install .)"


if __name__ == "__main__":
    sys.exit(main())
