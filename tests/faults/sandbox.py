"""A place to try wrong inputs in, whose surroundings are watched; and some that several tests try.

Rules' scripts run with a stand-in for Snakemake's object, commands as a person types them. Beside
the working folder lie HOME and the folder for temporary files: nothing may be left there.
"""

import hashlib
import logging
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from stand_in import Named, run

from triptych.cli import main


class Sandbox:
    """`here` is the working folder; what a test puts there is an input and has to stay as it is."""

    def __init__(self, around: Path, said: pytest.CaptureFixture[str]) -> None:
        self.around, self.here, self._said = around, around / "here", said
        for folder in ("here", "home", "temporary"):
            (around / folder).mkdir()
        (around / "home" / "mine.txt").write_text("mine")
        self._before: dict[str, str] = {}

    def rule(self, rule: str, given: dict, output: Named, **params: Any) -> None:
        """Run a rule's script; its outputs lie under results/ as all of the workflow's do."""
        self._before = self._before or listing(self.around)
        try:
            run(rule, given, output, **params)
        finally:
            logging.basicConfig(handlers=[logging.NullHandler()], force=True)

    def refuses(self, rule: str, given: dict, output: Named, *said: str, **params: Any) -> None:
        """Run a rule's script that has to fail with a message of these words, and no output."""
        self._said.readouterr()
        with pytest.raises(SystemExit) as refused:
            self.rule(rule, given, output, **params)
        message = self._said.readouterr().err
        assert refused.value.code == 1
        _told(message.split(f"{rule} failed: ")[-1], said)
        assert not [path for path in map(str, output) if Path(path).exists()]

    def triptych(self, *arguments: object) -> tuple[int, str, str]:
        """Run a command: its exit code, and what it wrote to both streams."""
        self._before = self._before or listing(self.around)
        self._said.readouterr()
        code = main(list(map(str, arguments)))
        told = self._said.readouterr()
        assert "Traceback" not in told.err
        return code, told.out, told.err

    def command_refuses(self, *arguments: object, said: tuple[str, ...]) -> None:
        """A command that has to end with code 2 and a message of these words."""
        code, _, message = self.triptych(*arguments)
        assert code == 2
        _told(message, said)

    def check(self, *written: str) -> None:
        """Inputs are as they were; new are only results and what is in `written`."""
        after = listing(self.around)
        assert {path: after.get(path) for path in self._before} == self._before
        allowed = tuple(f"here/{name}" for name in ("results", "resources", *written))
        strange = [path for path in set(after) - set(self._before) if not path.startswith(allowed)]
        assert strange == []
        left = [path for path in after if "/.partial-" in path or path.endswith(".part")]
        assert left == []


def _told(message: str, words: tuple[str, ...]) -> None:
    for word in words:
        assert word in message, (word, message)


def listing(folder: Path) -> dict[str, str]:
    """What lies in and below a folder: path, and kind or digest of the content."""
    found = {}
    for where, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(where, name)
            if path.is_symlink():
                what = f"link to {os.readlink(path)}"
            elif path.is_file():
                what = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                what = "a folder" if path.is_dir() else "something else"
            found[path.relative_to(folder).as_posix()] = what
    return found


class Trap:
    """What its pickle does when it is loaded as pickles are: write the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self._path}'",)


def trap(folder: Path, name: str) -> tuple[Path, Path]:
    """A pickle that runs code, under this name, and the file that stands there if it ran."""
    sprung = folder.parent / f"sprung by {name}"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(Trap(sprung), protocol=2))
    return path, sprung
