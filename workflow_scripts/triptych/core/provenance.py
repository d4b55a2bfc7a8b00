"""Origin of a result: digests of code, parameters and data, versions.

Snakemake reruns a job when a param changes, and does not notice an edit of a module that a script
imports. So each rule has `code=code("rl_train")` among its params (rules/common.smk), and
profiles/default drops Snakemake's own code trigger, which looks at file times. The param holds the
digest of each module that computes with the rule:

- its script, and what that imports, directly or not;
- methods that the job's rows name: `code("rl_train", methods=RL.methods)`, where `methods` is a
  list of modules, ["triptych.rl.pruning.criteria.snip"], or a function of wildcards that returns
  one. Import such a module by name (importlib): reached by an import statement, it counts in all;
- a user's own modules, named in the same way and found by PYTHONPATH, with the modules beside them
  that they import. Installed packages count in no digest; a job's record names their versions.

A digest is of a module's syntax tree without docstrings, comments, formatting, calls of `logger`,
texts of `raise` statements, imports for type checkers, and a method's looks (LOOKS).
A module that says `INFRASTRUCTURE = True` counts in no digest, and is not followed.
"""

import ast
import contextlib
import gc
import hashlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from triptych.core.files import sha256_of

INFRASTRUCTURE = True

LOOKS = {"LABEL", "COLOUR", "DASH", "MARKER", "PLACE"}
"""Constants of a method's module that only reports read."""

PLAN = "TRIPTYCH_PLAN"
"""Environment variable that tells the Snakemake of a cluster's job what the run was planned with:
JSON with digests of modules (`code`) and of the files that it reads again (`read`)."""

RESUME = "TRIPTYCH_RESUME"
"""Environment variable by which jobs know the config's `resume`: same_code or any_code."""

LIBRARY = Path(__file__).resolve().parents[2]

SOURCE = LIBRARY.parent
"""The folder with Snakefile, rules, config and resources: a checkout, or the folder of a wheel."""

SNAKEFILE = str(SOURCE / "Snakefile")
"""For another workflow's `module triptych: snakefile: SNAKEFILE`."""


def python_path() -> str:
    """A PYTHONPATH with this library before all that the present one names."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys([str(LIBRARY), *filter(None, named)]))


def link_to(folder: Path, path: str) -> str:
    """A link to a folder at `path`, made or corrected where it is another; returns `path`."""
    link = Path(path)
    if not (link.is_symlink() and link.readlink() == folder):
        link.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=link.parent) as temporary:
            (Path(temporary) / link.name).symlink_to(folder)
            (Path(temporary) / link.name).replace(link)
    return path


class CodeChanged(Exception):
    """Code or config is not what Snakemake planned with."""

    def __init__(self, files: Iterable[str]) -> None:
        super().__init__(
            f"{', '.join(files)} changed after Snakemake had read it for this run; the record of "
            "this job would name other code than ran. Run snakemake again."
        )


class Module(NamedTuple):
    """A module as it is on disk. digest: empty for a module that computes nothing; imports: dotted
    names that it may import."""

    digest: str
    imports: tuple[str, ...]
    infrastructure: bool


def read_module(path: Path) -> Module:
    """Parse a module. Raises SyntaxError."""
    collecting = gc.isenabled()
    gc.disable()  # while a tree grows, collections take two thirds of the time and free nothing
    try:
        tree = _Tree()
        body = ast.parse(path.read_bytes(), filename=str(path)).body
        constants = {id(statement): _constant(statement) for statement in body}
        for statement in body:
            if constants[id(statement)] not in LOOKS:
                tree.write_statement(statement)
    finally:
        if collecting:
            gc.enable()
    text = " ".join(tree.parts)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""
    return Module(digest, tuple(tree.imports), "INFRASTRUCTURE" in constants.values())


def _constant(statement: ast.stmt) -> str | None:
    """The name that a statement assigns a value to, if it does."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    return None


class _Tree:
    """Writes syntax trees in a form that depends on no version of Python, and notes imports.

    Fields that are empty are left out: later versions add some. `ast.dump` writes them.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.imports: dict[str, None] = {}

    def write_statement(self, statement: ast.stmt) -> None:
        if not _only_tells(statement):
            self.write(statement, strings=not isinstance(statement, ast.Raise))

    def write(self, node: ast.AST, strings: bool) -> None:
        """strings: whether string constants count."""
        kind, parts = type(node), self.parts
        if not strings and (
            kind is ast.JoinedStr or (kind is ast.Constant and type(node.value) is str)  # type: ignore[attr-defined]
        ):
            return
        parts.append(kind.__name__)
        for name in kind._fields:
            value = getattr(node, name, None)
            if value is None or name == "ctx" or value == []:
                continue
            parts.append(name)
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.stmt):
                    self.write_statement(item)
                elif isinstance(item, ast.AST):
                    self.write(item, strings)
                else:
                    parts.append(repr(item))
        parts.append(")")
        if kind is ast.Import:
            self.imports |= {alias.name: None for alias in node.names}  # type: ignore[attr-defined]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package import module` names a file, `from module import function` does not.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            self.imports |= dict.fromkeys([node.module, *names])


def _only_tells(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, a log message or for type checkers."""
    if isinstance(statement, ast.Expr):
        called = statement.value.func if isinstance(statement.value, ast.Call) else None
        logs = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
        return isinstance(statement.value, ast.Constant) or (logs and called.value.id == "logger")  # type: ignore[union-attr]
    if isinstance(statement, ast.If) and isinstance(statement.test, ast.Name):
        return statement.test.id == "TYPE_CHECKING" and not statement.orelse
    return False


class Code:
    """The library's modules and a user's own, each read once for all rules of a run.

    planned: digests that take the place of those on disk.
    """

    def __init__(self, library: Path = LIBRARY, planned: Mapping[str, str] | None = None) -> None:
        self._paths = {path.relative_to(library).as_posix(): path for path in library.rglob("*.py")}
        self._own = [Path(folder) for folder in python_path().split(os.pathsep)[1:]]
        self._planned = planned or {}
        self._modules: dict[str, Module] = {}

    def digests(self, script: str, methods: Iterable[str] = ()) -> dict[str, str]:
        """The digest of each module that a script computes with, by its path.

        script: its path below the library, "rl/train.py"; methods: further modules, dotted, of
        which installed ones are left out.
        """
        waiting = [script]
        for method in methods:
            waiting += self._files(method, anywhere=True)
        reached: set[str] = set()
        while waiting:
            file = waiting.pop()
            if file not in reached:
                reached.add(file)
                module = self._read(file)
                if not module.infrastructure:
                    users = file not in self._paths
                    for name in module.imports:
                        waiting += self._files(name, anywhere=users)
        counted = (file for file in reached if not self._modules[file].infrastructure)
        digests = {file: self._planned.get(file, self._read(file).digest) for file in counted}
        return {file: digests[file] for file in sorted(digests) if digests[file]}

    def all_digests(self) -> dict[str, str]:
        """The digest of every module of the library that computes, by its path."""
        for file in self._paths:
            with contextlib.suppress(SyntaxError):  # whoever uses it gets the error
                self._read(file)
        return {
            file: module.digest
            for file, module in self._modules.items()
            if module.digest and not module.infrastructure
        }

    def changed(self, digests: Mapping[str, str]) -> list[str]:
        """The modules among these that are others now."""
        return [file for file, digest in digests.items() if self._digest(file) != digest]

    def _digest(self, file: str) -> str | None:
        try:
            return self._read(file).digest
        except (OSError, SyntaxError):
            return None

    def _read(self, file: str) -> Module:
        if file not in self._modules:
            self._modules[file] = read_module(self._paths.get(file) or self._own_file(file))
        return self._modules[file]

    def _own_file(self, file: str) -> Path:
        for folder in self._own:
            if (folder / file).is_file():
                return folder / file
        raise FileNotFoundError(f"{file} is in no folder of PYTHONPATH")

    def _files(self, name: str, anywhere: bool) -> Iterator[str]:
        """The files that an import of a dotted name runs; anywhere: in PYTHONPATH, too."""
        path = ""
        for part in name.split("."):
            path += part
            for file in (f"{path}/__init__.py", f"{path}.py"):
                if file in self._paths or (
                    anywhere and any((f / file).is_file() for f in self._own)
                ):
                    yield file
            path += "/"


def planned_code(read: Iterable[Path], main: bool) -> Code:
    """The code that this run was planned with.

    read: files that the Snakemake of a cluster's job reads again, hours later; main: whether this
    is the Snakemake that plans, and leaves PLAN for them. Raises CodeChanged if one has changed.
    """
    files = {str(path.resolve()): sha256_of(path) for path in read if path.exists()}
    if not main and PLAN in os.environ:
        plan = json.loads(os.environ[PLAN])
        changed = [file for file, digest in files.items() if plan["read"].get(file) != digest]
        if changed:
            raise CodeChanged(changed)
        return Code(planned=plan["code"])
    code = Code()
    if main:
        os.environ[PLAN] = json.dumps({"code": code.all_digests(), "read": files})
    return code


def check_code(digests: Mapping[str, str]) -> None:
    """Raise CodeChanged naming the modules that are not as they were planned."""
    changed = Code().changed(digests)
    if changed:
        raise CodeChanged([f"workflow_scripts/{file}" for file in changed])


def parameters_digest(params: Mapping[str, Any]) -> str:
    """Digest of a job's parameters, whatever the order of their names."""
    return _json_digest(dict(params))


def _json_digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Fingerprint:
    """Digests, by name, of everything that determines a job's result.

    values: of its parameters and input files; code: of the modules that compute it.
    """

    values: Mapping[str, str]
    code: Mapping[str, str] = field(default_factory=dict)

    def with_values(self, **values: Any) -> "Fingerprint":
        """This fingerprint with further parameters."""
        further = {name: _json_digest(value) for name, value in values.items()}
        return Fingerprint({**self.values, **further}, self.code)

    @property
    def digest(self) -> str:
        """One digest of everything."""
        return _json_digest([dict(self.values), dict(self.code)])


def fingerprint(params: Mapping[str, Any], files: Iterable[str | os.PathLike[str]]) -> Fingerprint:
    """The fingerprint of a job: of its params, without where its checkpoint lies, and its data."""
    values = {name: value for name, value in params.items() if name not in ("code", "checkpoint")}
    data = {str(file): sha256_of(file) for file in files}
    return Fingerprint(data, dict(params.get("code", {}))).with_values(**values)


def package_versions() -> dict[str, str]:
    """Versions of Python and of all installed distributions."""
    import importlib.metadata

    versions: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        metadata = distribution.metadata  # which is parsed at each call
        versions.setdefault(metadata["Name"], metadata["Version"])
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, **{name: versions[name] for name in sorted(versions)}}


def cpu_name() -> str:
    """The processor's own name, as far as the system tells it."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
