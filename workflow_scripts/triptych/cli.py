"""The console command `triptych`: what the workflow made, put to use.

What takes long to import is imported when a command runs, so that --help is instant.
"""

import argparse
import errno
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from triptych.core.errors import InputError, error_message, meant, printable

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
INTERRUPTED_EXIT_CODE = 128 + signal.SIGINT

STOPPED = "nothing unfinished is left; the same call begins again"
"""The end of the line of a command that Ctrl-C ends, unless its KeyboardInterrupt has a text."""

AGAIN_SECONDS = 0.1
"""Until a signal that came during an import is looked at again."""

TOGETHER_SECONDS = 1.0
"""Signals that come together are one: `timeout` sends a second to the whole group, and that one
would break off the deletion of temporary files."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code: 2 for input that cannot be used, 130 after Ctrl-C."""
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
    command = "triptych"
    try:
        with _interrupted_once():
            options = _parser().parse_args(arguments)
            command = f"triptych {options.command}"
            _check_checkout()
            return int(options.run(options))
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as stop:
        print(f"{command}: stopped; {str(stop) or STOPPED}", file=sys.stderr)
        return INTERRUPTED_EXIT_CODE
    except (InputError, OSError) as problem:
        print(f"{command}: {error_message(problem)}", file=sys.stderr)
        return 2


class _Interrupt(KeyboardInterrupt):
    """Ctrl-C. Python itself ends by SIGINT where a KeyboardInterrupt, not one of a subclass, has
    left code that was compiled from a string, as in PyTorch's import."""


@contextmanager
def _interrupted_once() -> Iterator[None]:
    """Let SIGINT end the block by KeyboardInterrupt, once a module that is being imported is whole:
    PyTorch's import aborts. Where whoever started the process ignores SIGINT it stays so."""
    last = -TOGETHER_SECONDS

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if _imports(frame):
            again = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
        elif time.monotonic() - last > TOGETHER_SECONDS:
            last = time.monotonic()
            raise _Interrupt

    own = threading.current_thread() is threading.main_thread()
    if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module's code is being run, as an import does, in a frame or in those between it
    and `main`."""
    while frame is not None and frame.f_code is not main.__code__:
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def _check_checkout() -> None:
    """Refuse another checkout's code, which a .venv that was copied along, or a link, runs."""
    from triptych.core.provenance import LIBRARY

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
            from triptych.core.job import silence

            silence(self._stream)  # the terminal is gone; the work goes on
        return len(text)


class _Parser(argparse.ArgumentParser):
    """A parser that refuses unknown and abbreviated names in its command's name, with what may be
    meant."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        near = meant([choice[1]], re.findall(r"[\w-]+", choice[2])) if choice else ""
        super().error(message + near)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            known = re.findall(r"--[\w-]+", self.format_usage())
            near = meant([text.partition("=")[0] for text in unknown], known)
            if not any(text.startswith("-") for text in unknown):
                near = "; a TEXT of several words, or a name with spaces, needs quotation marks"
            self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
        return options, unknown


def _parser() -> argparse.ArgumentParser:
    from triptych.apps import doctor, init, plan, policy
    from triptych.apps.pictures import commands as pictures
    from triptych.apps.sounds import commands as sounds

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
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"triptych {version('triptych')}"
    except PackageNotFoundError:
        return "triptych (not installed as a package: run make demo or pip install .)"


if __name__ == "__main__":
    sys.exit(main())
