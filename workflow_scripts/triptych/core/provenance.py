"""Origin of a result: digests of code, parameters and data, versions.

Snakemake reruns a job when a param changes, and does not notice an edit of a module that a script
imports. So each rule has `code=code("rl_train")` among its params (rules/common.smk), and
profiles/default drops Snakemake's own code trigger, which looks at file times. The param holds the
digest of each module that computes with the rule:

- its script, and what that imports, directly or not;
- methods that the job's rows name: `code("rl_train", methods=RL.methods)`, where `methods` is a
  list of modules, ["triptych.rl.pruning.criteria.snip"], or a function of wildcards that returns
  one. Import such a module by name (importlib): reached by an import statement, it counts in all;
- a user's own modules, named in the same way and found by PYTHONPATH or installed as they lie
  (pip install --editable): the whole package of a named one, with its data files; what they import,
  entry points in their texts ("package.module:Class") and model files that they name;
- a user's files, given as paths among the methods: the options of an environment name some.

Installed packages count in no digest; a job's record names their versions.

A digest is of a module's syntax tree without docstrings, comments, formatting, calls of `logger`,
texts of `raise` statements and imports for type checkers; of the library's own methods also without
their looks (LOOKS). A module of the library that says `INFRASTRUCTURE = True` counts in no digest,
and is not followed.
"""

import ast
import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import platform
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from triptych.core.files import sha256_of

INFRASTRUCTURE = True

LOOKS = {"LABEL", "COLOUR", "DASH", "MARKER", "PLACE"}
"""Constants of a method's module that only reports read."""

ENTRY_POINT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A text that names a class of a module, as gymnasium's registrations do."""

MODEL_SUFFIXES = {".xml", ".mjcf", ".urdf", ".xacro", ".sdf", ".usd", ".yaml", ".yml", ".toml"}
"""Files that count where a user's module names them: those that programs read and seldom write."""

INSTALLED = {"site-packages", "dist-packages"}

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
    names that it may import, relative ones with their dots; texts: its string constants."""

    digest: str
    imports: tuple[str, ...] = ()
    infrastructure: bool = False
    texts: tuple[str, ...] = ()


def read_module(path: Path, own: bool = False) -> Module:
    """Parse a module; own: a user's, which has no looks. Raises SyntaxError."""
    collecting = gc.isenabled()
    gc.disable()  # while a tree grows, collections take two thirds of the time and free nothing
    try:
        tree = _Tree()
        body = ast.parse(path.read_bytes(), filename=str(path)).body
        constants = {id(statement): _constant(statement) for statement in body}
        for statement in body:
            if own or constants[id(statement)] not in LOOKS:
                tree.write_statement(statement)
    finally:
        if collecting:
            gc.enable()
    text = " ".join(tree.parts)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""
    infrastructure = not own and "INFRASTRUCTURE" in constants.values()
    return Module(digest, tuple(tree.imports), infrastructure, tuple(tree.texts))


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
        self.texts: dict[str, None] = {}

    def write_statement(self, statement: ast.stmt) -> None:
        if not _changes_no_result(statement):
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
                    if kind is ast.Constant and isinstance(item, str):
                        self.texts[item] = None
        parts.append(")")
        if kind is ast.Import:
            self.imports |= {alias.name: None for alias in node.names}  # type: ignore[attr-defined]
        elif isinstance(node, ast.ImportFrom):
            # `from package import module` names a file, `from module import function` does not.
            source = "." * node.level + (node.module or "")
            between = "." if node.module else ""
            names = [f"{source}{between}{alias.name}" for alias in node.names]
            self.imports |= dict.fromkeys([*([source] if node.module else []), *names])


def _changes_no_result(statement: ast.stmt) -> bool:
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
        self._own = [
            Path(folder)
            for folder in python_path().split(os.pathsep)[1:]
            if Path(folder).name not in INSTALLED
        ]
        self._planned = planned or {}
        self._modules: dict[str, Module] = {}

    def digests(self, script: str, methods: Iterable[str | Path] = ()) -> dict[str, str]:
        """The digest of each module that a script computes with, by its path.

        script: its path below the library, "rl/train.py"; methods: further modules, dotted, of
        which installed ones are left out, and files by their paths.
        """
        waiting = [script]
        for method in methods:
            waiting += [str(method)] if isinstance(method, Path) else self._named(method)
        reached: set[str] = set()
        while waiting:
            file = waiting.pop()
            if file not in reached:
                reached.add(file)
                module = self._read(file)
                if not module.infrastructure:
                    waiting += self._reached_from(file, module)
        counted = (file for file in reached if not self._modules[file].infrastructure)
        digests = {file: self._planned.get(file, self._read(file).digest) for file in counted}
        return {file: digests[file] for file in sorted(digests) if digests[file]}

    def _named(self, name: str) -> Iterator[str]:
        """The files of a module that is named, not imported: of a user's, its whole package."""
        files = [*self._files(name, anywhere=True)]
        yield from files
        if files and not any(file in self._paths for file in files):
            yield from self._package(name.partition(".")[0])

    def _package(self, package: str) -> Iterator[str]:
        """All files of a user's package but hidden ones and what runs leave."""
        for top in self._folders(package):
            if not (top / package).is_dir():
                continue
            for folder, folders, names in os.walk(top / package):
                inside = [name for name in folders if not name.startswith((".", "__pycache__"))]
                here = Path.cwd() == Path(folder).resolve()
                folders[:] = sorted(name for name in inside if not (here and name == "results"))
                for name in names:
                    if not name.startswith(".") and not name.endswith((".pyc", ".log")):
                        yield (Path(folder) / name).relative_to(top).as_posix()
            return

    def _reached_from(self, file: str, module: Module) -> Iterator[str]:
        """The files that a module imports and, if it is a user's, names in its texts."""
        own = file not in self._paths
        package = file.split("/")[:-1]
        for name in module.imports:
            level = len(name) - len(name.lstrip("."))
            base = package[: len(package) + 1 - level] if level else []
            yield from self._files(".".join([*base, name[level:]]), anywhere=own)
        for text in module.texts if own else ():
            if ENTRY_POINT.fullmatch(text):
                yield from self._named(text.partition(":")[0])
            elif Path(text).suffix.lower() in MODEL_SUFFIXES and len(text) < 200:
                beside = f"{'/'.join([*package, ''])}{text}"
                with contextlib.suppress(OSError):
                    yield from (name for name in (beside, text) if self._own_path(name))

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
            known = self._paths.get(file)
            self._modules[file] = read_module(known) if known else self._read_own(file)
        return self._modules[file]

    def _read_own(self, file: str) -> Module:
        """A user's module, or another file of the user's by its bytes."""
        path = self._own_path(file)
        if path is None:
            raise FileNotFoundError(f"{file} is in no folder of PYTHONPATH")
        if path.suffix == ".py":
            with contextlib.suppress(SyntaxError):  # whoever imports it gets the error
                return read_module(path, own=True)
        return Module(sha256_of(path)[:12])

    def _own_path(self, file: str) -> Path | None:
        """A user's file, by its path below a folder of PYTHONPATH or that of this run."""
        top = file.split("/")[0].removesuffix(".py")
        folders = [*self._folders(top), Path()]
        return next((folder / file for folder in folders if (folder / file).is_file()), None)

    def _folders(self, package: str) -> list[Path]:
        """The folders in which a user's package may lie."""
        editable = _editable(package)
        return [*self._own, *([editable] if editable else [])]

    def _files(self, name: str, anywhere: bool) -> Iterator[str]:
        """The files that an import of a dotted name runs; anywhere: a user's, too."""
        folders = self._folders(name.partition(".")[0]) if anywhere else []
        path = ""
        for part in name.split("."):
            path += part
            for file in (f"{path}/__init__.py", f"{path}.py"):
                if file in self._paths or any((folder / file).is_file() for folder in folders):
                    yield file
            path += "/"


@cache
def _editable(package: str) -> Path | None:
    """The folder in which a package lies that is installed as it lies, if it is one."""
    try:
        spec = importlib.util.find_spec(package) if package.isidentifier() else None
    except (ImportError, ValueError, AttributeError):
        return None
    places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec else [""]
    path = Path(places[0]).resolve()
    library = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    if not path.is_absolute() or not places[0] or INSTALLED & {*path.parts}:
        return None
    return None if library & {*path.parents} or not path.exists() else path.parent


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
        in_library = [(LIBRARY / file).exists() for file in changed]
        named = zip(changed, in_library, strict=True)
        raise CodeChanged([f"workflow_scripts/{file}" if ours else file for file, ours in named])


def named_files(value: Any) -> list[Path]:
    """The files, of this run's folder or of one of PYTHONPATH, that texts in a value name; of a
    folder, those below it."""
    if isinstance(value, Mapping):
        return named_files([*value.values()])
    if isinstance(value, list):
        return [path for entry in value for path in named_files(entry)]
    if not isinstance(value, str) or not value:
        return []
    with contextlib.suppress(OSError, ValueError):  # too long a name, or a zero byte in it
        folders = [Path(), *map(Path, python_path().split(os.pathsep)[1:])]
        if any((folder / value).is_file() for folder in folders):
            return [Path(value)]
        path, here = Path(value), Path.cwd()
        if (
            path.is_dir()
            and path.parts[:1] != ("results",)
            and not here.is_relative_to(path.resolve())
        ):
            return sorted(file for file in path.rglob("*") if file.is_file())
    return []


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
