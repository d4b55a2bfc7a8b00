"""The library's modules as this process imported them, compared with those of Snakemake's plan.

A job's code digest is taken when Snakemake reads the rules; the job imports its modules later, some
of them when it needs them. So every module's text is noted as it is imported. A job that differs
from the plan by one module, changed for a moment though it was, fails: its record would name other
code than ran.
"""

import ast
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

PLAN = "TRIPTYCH_PLAN"
"""Environment variable by which Snakemake names the file of its plan to all its jobs."""

CHECKED = "TRIPTYCH_CHECKED"
"""That of processes that a job starts: the plan with which each import is compared at once."""

LIBRARY = Path(__file__).resolve().parents[2]
_PREAMBLE_ENDS = b"######## snakemake preamble end #########\n"

_texts: dict[str, bytes] = {}
_plan: dict[str, list[str]] = {}


class CodeChanged(Exception):
    """Code is not what Snakemake planned with."""

    def __init__(self, file: str) -> None:
        super().__init__(
            f"{file} was changed after Snakemake had read it for this run, so the record of this "
            "job would name other code than ran. Its outputs are not kept; run snakemake again."
        )


def python_path() -> str:
    """A PYTHONPATH with this library before all that the present one names."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys([str(LIBRARY), *filter(None, named)]))


def watch_imports() -> None:
    """Note each module of this library that is imported from now on, and those that already are."""
    sys.meta_path.insert(0, _Finder())
    if os.environ.get(CHECKED):
        _plan.update(_files(os.environ[CHECKED]))
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "triptych" and module.__file__:
            _note(module.__file__, Path(module.__file__).read_bytes())


def check_against_plan() -> None:
    """Compare all that this job imported, its script and each later import with Snakemake's plan.

    Raises CodeChanged for the first that differs by more than comments; so does a later import.
    Does nothing where no plan is named, in a script that is run without Snakemake.
    """
    plan = os.environ.get(PLAN)
    if not plan:
        return
    _plan.update(_files(plan))
    os.environ[CHECKED] = plan
    for file, text in _texts.items():
        _compare(file, text)
    main = sys.modules["__main__"]
    copy = Path(getattr(main, "__real_file__", main.__file__) or "")
    _, preamble, own = copy.read_bytes().partition(_PREAMBLE_ENDS)
    if preamble:  # Snakemake runs a copy, and sets __file__ to the script that it copied
        _compare(str(main.__file__), own)


def tree_digest(tree: ast.Module) -> str:
    """Digest of a module's syntax tree: comments and formatting don't count."""
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _files(plan: str) -> dict[str, list[str]]:
    """{file below the library's folder: [digest of its text, digest of its tree]}"""
    return json.loads(Path(plan).read_text(encoding="utf-8"))["code"]


def _note(file: str, text: bytes) -> None:
    _texts[file] = text
    _compare(file, text)


def _compare(file: str, text: bytes) -> None:
    name = os.path.relpath(file, LIBRARY)
    planned, tree = _plan.get(name, (None, None))
    if planned in (None, hashlib.sha256(text).hexdigest()):
        return
    if tree_digest(ast.parse(text, filename=file)) != tree:
        raise CodeChanged(f"workflow_scripts/{name}")


class _Finder:
    """Finds this library's modules where Python would, for a loader that notes them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("triptych."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Notes a module's text, and takes bytecode that was compiled from that text only.

    Python's own mark of bytecode is the source's time in whole seconds and its size: a second edit
    within a second would be missed.
    """

    def path_stats(self, path: str) -> Mapping[str, Any]:
        text = self.get_data(path)
        _note(path, text)
        return {"mtime": zlib.crc32(text), "size": len(text)}
