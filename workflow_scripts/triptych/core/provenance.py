"""What a result was made from: digests of code, parameters and data, versions, cost.

Snakemake reruns a job when its script's modification time changes (a clone or a branch switch does
that) and does not notice an edited module that the script imports. So every rule carries
`code_digest` of its script in its params, and profiles/default drops Snakemake's own code trigger.
"""

import ast
import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from triptych.core.files import sha256_of

LIBRARY = Path(__file__).resolve().parents[2]
"""The folder that holds the scripts and, beside them, the package `triptych`."""


@cache
def code_digest(script: str | os.PathLike[str], root: Path = LIBRARY) -> str:
    """Digest of a script and of every module below `root` that it imports, directly or not.

    Syntax trees are hashed, so comments and formatting don't count, and nor do file times.
    """
    modules: dict[Path, bytes] = {}
    waiting = [root / script]
    while waiting:
        module = waiting.pop()
        if module not in modules:
            modules[module], imported = _module(module, root)
            waiting += imported
    digest = hashlib.sha256()
    for module in sorted(modules):
        digest.update(str(module.relative_to(root)).encode())
        digest.update(modules[module])
    return digest.hexdigest()[:16]


@cache
def _module(module: Path, root: Path) -> tuple[bytes, list[Path]]:
    """A module's syntax tree as text, and the files below `root` that importing it runs.

    Each is read once for all rules: this is most of the time that Snakemake takes to start.
    """
    tree = ast.parse(module.read_text(encoding="utf-8"), filename=str(module))
    files = [file for name in _imports(tree) for file in _files_of(name, root)]
    return ast.dump(tree).encode(), list(dict.fromkeys(files))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            # `from package import module` names a file, `from module import function` does not.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files_of(name: str, root: Path) -> Iterator[Path]:
    """The files that importing `name` runs, as far as they lie below `root`."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        base = root.joinpath(*parts[:depth])
        for candidate in (base / "__init__.py", base.with_suffix(".py")):
            if candidate.is_file():
                yield candidate


def parameters_digest(params: Mapping[str, Any]) -> str:
    """Digest of a job's parameters, whatever the order of their names."""
    text = json.dumps(dict(params), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(params: Mapping[str, Any], files: Iterable[str | os.PathLike[str]]) -> str:
    """Digest of all that determines a job's result: params, code digest included, and data."""
    data = {str(file): sha256_of(file) for file in files}
    return parameters_digest({"params": parameters_digest(params), "files": data})


def package_versions() -> dict[str, str]:
    """Versions of the distributions that this process has imported, and of Python."""
    distributions = importlib.metadata.packages_distributions()
    names = {
        name
        for module in sys.modules
        if "." not in module
        for name in distributions.get(module, ())
    }
    versions = {name: importlib.metadata.version(name) for name in sorted(names)}
    return {"python": ".".join(map(str, sys.version_info[:3])), **versions}


def cpu_name() -> str:
    """The processor's own name, as far as the system tells it."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
