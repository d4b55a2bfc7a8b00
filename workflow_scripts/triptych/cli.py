"""The console command `triptych`: what the workflow made, put to use.

What takes long to import is imported when a command runs, so that --help is instant.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from triptych.apps import doctor, init, plan, policy, results
from triptych.apps.pictures import commands as pictures
from triptych.apps.sounds import commands as sounds
from triptych.core.errors import InputError, error_message, printable

DESCRIPTION = "Put to use what the workflow made under results/."

EXAMPLES = """\
examples:
  paint photographs and videos in a style:
    triptych stylize photo.jpg --style swirls -o painted.jpg

  find your own recordings by a description:
    triptych index ~/sounds
    triptych search "rain on a tin roof" --index ~/sounds

  write what acts of one pruned policy, packed and as ONNX, and beside it what acts with it:
    triptych policy export results/rl/hopper/narrow/bcq-paper/policies.safetensors \\
        --method snip --sparsity 95 --seed 0 -o hopper.tpk
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code (2 for input that cannot be used)."""
    with redirect_stdout(_Printable(sys.stdout)), redirect_stderr(_Printable(sys.stderr)):
        try:
            try:
                return _run(arguments)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:  # who reads, `head` say, has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        raise
    except (InputError, OSError) as problem:
        print(f"triptych {options.command}: {error_message(problem)}", file=sys.stderr)
        return 2


class _Printable:
    """A stream on which the names of files can do nothing to a terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        code = self._stream.encoding or "utf-8"
        text = printable(text, allowed="\n\t").encode(code, "backslashreplace").decode(code)
        return int(self._stream.write(text))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="triptych",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for app in (pictures, sounds, policy, init, plan, results, doctor):
        app.add_commands(commands)
    return parser


def _version() -> str:
    try:
        return f"triptych {version('triptych')}"
    except PackageNotFoundError:
        return "triptych (not installed as a package: run make demo or pip install .)"


if __name__ == "__main__":
    sys.exit(main())
