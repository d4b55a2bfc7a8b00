"""The console command `triptych`: what the workflow made, put to use.

What takes long to import is imported when a command runs, so that --help is instant.
"""

import argparse
import errno
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

from triptych.apps import doctor, init, plan, policy
from triptych.apps.pictures import commands as pictures
from triptych.apps.sounds import commands as sounds
from triptych.core.errors import InputError, error_message, printable
from triptych.core.job import silence
from triptych.core.provenance import LIBRARY

DESCRIPTION = """\
Reproduce three papers, and use what was trained on your own files.

{commands}

triptych COMMAND --help has options and examples.
"""

GROUPS = {
    "paint": ("stylize",),
    "search sounds": ("index", "search", "serve", "adapt"),
    "run": ("init", "demo", "plan", "weights", "policy"),
    "check": ("doctor", "verify"),
}
"""Commands by what people want; the help lists them so."""
CUTOFF = 0.7
"""Least similarity of a name that is suggested: --limit is not --like (0.62)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code (2 for input that cannot be used)."""
    os.environ["MPLBACKEND"] = "agg"  # a notebook's is no backend of this environment
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
        _check_checkout()
        return int(options.run(options))
    except BrokenPipeError:
        raise
    except (InputError, OSError) as problem:
        print(f"triptych {options.command}: {error_message(problem)}", file=sys.stderr)
        return 2


def _check_checkout() -> None:
    """Refuse another checkout's code, which a .venv that was copied along, or a link, runs."""
    checkout = Path(os.path.abspath(sys.argv[0])).parent.parent.parent
    library = checkout / LIBRARY.name
    if library.is_dir() and not library.samefile(LIBRARY):
        raise InputError(
            f"the .venv in {checkout} runs the code of {LIBRARY.parent}, where it was made; "
            f"run make setup in {checkout}"
        )


class _Printable:
    """A stream on which the names of files can do nothing to a terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        code = self._stream.encoding or "utf-8"
        text = printable(text, allowed="\n\t").encode(code, "backslashreplace").decode(code)
        try:
            self._stream.write(text)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            silence(self._stream)  # the terminal is gone; the work goes on
        return len(text)


class _Parser(argparse.ArgumentParser):
    """A parser that refuses unknown and abbreviated names in its command's name, with what may be
    meant."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        near = _meant([choice[1]], re.findall(r"[\w-]+", choice[2])) if choice else ""
        super().error(message + near)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            known = re.findall(r"--[\w-]+", self.format_usage())
            meant = _meant([text.partition("=")[0] for text in unknown], known)
            if not any(text.startswith("-") for text in unknown):
                meant = "; a TEXT of several words, or a name with spaces, needs quotation marks"
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return options, unknown


def _meant(given: Sequence[str], known: Sequence[str]) -> str:
    """The end of a message: the names that resemble those given."""
    near = [name for text in given for name in get_close_matches(text, known, 1, CUTOFF)]
    return "".join(f"; maybe you meant {name}?" for name in near)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="triptych",
        usage="triptych COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(
        prog="triptych",
        dest="command",
        metavar="COMMAND",
        required=True,
        help=argparse.SUPPRESS,
    )
    for app in (pictures, sounds, policy, init, plan, doctor):
        app.add_commands(commands)
    parser.description = DESCRIPTION.format(commands=_grouped(commands.choices))
    return parser


def _grouped(parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """A line for each command, under the title of its group."""
    lines: list[str] = []
    for title, names in GROUPS.items():
        lines += ["", f"{title}:"] if lines else [f"{title}:"]
        lines += [f"  {name:9} {parsers[name].get_default('summary')}" for name in names]
    return "\n".join(lines)


def _version() -> str:
    try:
        return f"triptych {version('triptych')}"
    except PackageNotFoundError:
        return "triptych (not installed as a package: run make demo or pip install .)"


if __name__ == "__main__":
    sys.exit(main())
