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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.core.files import atomic_path, sha256_of
from triptych.core.imported import LIBRARY, tree_digest


@dataclass(frozen=True)
class Code:
    """Scripts and modules as they are on disk.

    digests: of each script and of every module that it imports, directly or not, by its name.
    files: digests of text and syntax tree of each of them, by path below the folder.
    """

    digests: dict[str, str]
    files: dict[str, tuple[str, str]]


def read_code(memory: str | os.PathLike[str] | None = None, root: Path = LIBRARY) -> Code:
    """The scripts in `root` and the modules below it that they import.

    Syntax trees are hashed, so comments and formatting don't count, and nor do file times. Parsing
    them all takes a second; so `memory`, a file, keeps what each module's text was found to be,
    by the text's own digest. It is made where it is missing or unreadable.
    """
    modules = _Modules(root, _remembered(memory))
    scripts = [file for file in sorted(root.glob("*/*.py")) if file.parent.name != "triptych"]
    digests = {str(s.relative_to(root)): modules.digest(s) for s in scripts}
    if memory is not None and modules.found != modules.known:
        # Only a memory: where it can't be written, all is parsed again next time.
        with contextlib.suppress(OSError), atomic_path(Path(memory)) as temporary:
            temporary.write_text(json.dumps(modules.found, sort_keys=True))
    return Code(digests, modules.files)


def _remembered(memory: str | os.PathLike[str] | None) -> dict[str, list[Any]]:
    if memory is not None:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(Path(memory).read_text(encoding="utf-8"))
    return {}


class _Modules:
    """The modules below a folder, each read once: what they contain and which files they import.

    known, found: {digest of a module's text: [digest of its syntax tree, names it imports]}
    """

    def __init__(self, root: Path, known: dict[str, list[Any]]) -> None:
        self.root, self.known = root, known
        self.found: dict[str, list[Any]] = {}
        self.files: dict[str, tuple[str, str]] = {}
        self._read: dict[Path, tuple[str, list[Path]]] = {}
        self._files: dict[str, list[Path]] = {}

    def digest(self, script: Path) -> str:
        """Of a file and all that it imports from below the folder."""
        reached: dict[Path, str] = {}
        waiting = [script]
        while waiting:
            module = waiting.pop()
            if module not in reached:
                reached[module], imported = self._module(module)
                waiting += imported
        lines = [f"{module.relative_to(self.root)} {reached[module]}" for module in sorted(reached)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def _module(self, module: Path) -> tuple[str, list[Path]]:
        if module not in self._read:
            text = module.read_bytes()
            key = hashlib.sha256(text).hexdigest()
            self.found[key] = self.known.get(key) or _parsed(text, module)
            tree, names = self.found[key]
            self.files[str(module.relative_to(self.root))] = key, tree
            files = [file for name in names for file in self._files_of(name)]
            self._read[module] = tree, list(dict.fromkeys(files))
        return self._read[module]

    def _files_of(self, name: str) -> list[Path]:
        """The files that importing `name` runs, as far as they lie below the folder."""
        if name not in self._files:
            package, _, _ = name.rpartition(".")
            base = self.root.joinpath(*name.split("."))
            own = [base / "__init__.py", base.with_suffix(".py")]
            self._files[name] = [
                *(self._files_of(package) if package else ()),
                *(file for file in own if file.is_file()),
            ]
        return self._files[name]


def _parsed(text: bytes, module: Path) -> list[Any]:
    """[digest of the syntax tree, every name that is imported]"""
    tree = ast.parse(text, filename=str(module))
    return [tree_digest(tree), sorted(set(_imports(tree)))]


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            # `from package import module` names a file, `from module import function` does not.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def write_plan(
    folder: str | os.PathLike[str], code: Code, read: Iterable[str | os.PathLike[str]]
) -> str:
    """Write what Snakemake has read for its run, code and other files; the path of what is written.

    Jobs compare themselves with it (`core/imported.py`); it is named by its content.
    """
    then = {str(file): sha256_of(file) for file in read}
    plan = {"code": code.files, "digests": code.digests, "read": then}
    text = json.dumps(plan, sort_keys=True)
    path = Path(folder, f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json").resolve()
    if not path.exists():
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return str(path)


def planned_code(plan: str) -> Code:
    """The code that a plan was written with, as `read_code` found it.

    A job's parameters name it, whatever the files are at the moment in which the job begins: what
    it imports is compared with the plan, and a record or a checkpoint names what was planned.
    """
    written = json.loads(Path(plan).read_text(encoding="utf-8"))
    return Code(written["digests"], written["code"])


def changed_since(plan: str, read: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Those files that are not as they were, or weren't there, when a plan was written."""
    then = json.loads(Path(plan).read_text(encoding="utf-8"))["read"]
    return [str(file) for file in read if then.get(str(file)) != sha256_of(file)]


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
