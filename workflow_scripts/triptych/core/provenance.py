"""What a result was made from: digests of code, parameters and data, versions.

Snakemake reruns a job when its script's modification time changes and does not notice an edited
module that the script imports. So every rule has a digest of its script and imports among its
params, and profiles/default drops Snakemake's own code trigger.

A job's code digest is taken when Snakemake reads the rules; the job imports its modules later. So
every module's text is noted as it is imported, and a job that differs from the plan by one module
fails: its record would name other code than ran.
"""

import ast
import contextlib
import hashlib
import json
import os
import platform
import sys
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from triptych.core.files import atomic_path, sha256_of

PLAN = "TRIPTYCH_PLAN"
"""Environment variable by which Snakemake names the file of its plan to all its jobs."""

CHECKED = "TRIPTYCH_CHECKED"
"""Environment variable that names the plan to processes that a job starts: they compare at once."""

LIBRARY = Path(__file__).resolve().parents[2]

SOURCE = LIBRARY.parent
"""The folder with Snakefile, rules, config and resources: a checkout, or the folder of a wheel."""

SNAKEFILE = str(SOURCE / "Snakefile")
"""For another workflow's `module triptych: snakefile: SNAKEFILE`."""

_PREAMBLE_ENDS = b"######## snakemake preamble end #########\n"

_texts: dict[str, bytes] = {}
_plan: dict[str, list[str]] = {}


def source_of(folder: Path) -> Path:
    """The source of the workflow that runs in a folder: itself, where it is a checkout."""
    return folder if (folder / "rules").is_dir() else SOURCE


def python_path() -> str:
    """A PYTHONPATH with this library before all that the present one names."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys([str(LIBRARY), *filter(None, named)]))


class Code(NamedTuple):
    """Scripts and modules as they are on disk. digests: of each script with all modules that it
    imports, by its name; files: digests of text and syntax tree, by path below the folder."""

    digests: dict[str, str]
    files: dict[str, tuple[str, str]]


def read_code(root: Path = LIBRARY, known: Path | None = None) -> Code:
    """The scripts in `root` and the modules below it that they import, each read once.

    Syntax trees are hashed, so comments and formatting don't count, and nor do file times.
    known: a file that keeps what was parsed, by its text's digest, for the next call.
    """
    code = Code({}, {})
    parsed: dict[str, tuple[str, list[str]]] = {}
    if known:
        with contextlib.suppress(OSError, ValueError):
            parsed = json.loads(known.read_text(encoding="utf-8"))
    before = len(parsed)
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    imported: dict[str, list[str]] = {}
    for script in sorted(name for name in paths if name.count("/") == 1):
        reached: set[str] = set()
        waiting = [script] if not script.startswith("triptych/") else []
        while waiting:
            module = waiting.pop()
            if module in reached:
                continue
            reached.add(module)
            if module not in imported:
                text = paths[module].read_bytes()
                digest = hashlib.sha256(text).hexdigest()
                if digest not in parsed:
                    tree = ast.parse(text, filename=str(paths[module]))
                    parsed[digest] = tree_digest(tree), sorted(set(_imports(tree.body)))
                own, names = parsed[digest]
                code.files[module] = digest, own
                imported[module] = [file for name in names for file in _files_of(name, paths)]
            waiting += imported[module]
        if reached:
            parts = sorted(name.split("/") for name in reached)
            lines = "\n".join(f"{name} {code.files[name][1]}" for name in map("/".join, parts))
            code.digests[script] = hashlib.sha256(lines.encode()).hexdigest()[:16]
    if known and len(parsed) > before:
        with atomic_path(known) as temporary:
            temporary.write_text(json.dumps(parsed), encoding="utf-8")
    return code


def trees_file(folder: str | os.PathLike[str]) -> Path:
    """Where `read_code` keeps what it parsed, by Python: they write syntax trees differently."""
    return Path(folder, f"trees-{sys.version_info.major}.{sys.version_info.minor}.json")


def _files_of(name: str, files: Container[str]) -> Iterator[str]:
    """The files that importing `name` runs, as far as they are among `files`."""
    path = ""
    for part in name.split("."):
        path = f"{path}{part}"
        yield from (file for file in (f"{path}/__init__.py", f"{path}.py") if file in files)
        path += "/"


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What these statements and all within them import; expressions hold no imports."""
    for node in nodes:
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from _imports(getattr(node, field, ()))
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            # `from package import module` names a file, `from module import function` does not.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def write_plan(
    folder: str | os.PathLike[str], code: Code, read: Iterable[str | os.PathLike[str]]
) -> str:
    """Write what Snakemake has read for its run, code and other files, to a file named by its
    content; its path."""
    then = {str(file): sha256_of(file) for file in read}
    plan = {"code": code.files, "digests": code.digests, "read": then}
    text = json.dumps(plan, sort_keys=True)
    path = Path(folder, f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json").resolve()
    if not path.exists():
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return str(path)


def digests_of_run(read: Iterable[Path], main: bool, folder: str) -> dict[str, str]:
    """Code digests of all scripts as Snakemake planned with them, by their rules' names.

    main: whether this is the Snakemake that plans. It writes down in `folder` what it has read,
    code and the files of `read`, for all its jobs (PLAN). One that runs a cluster's job, hours
    later, takes the digests from there, and raises CodeChanged where a file has changed since.
    """
    there = [path.resolve() for path in read if path.exists()]
    if not main and PLAN in os.environ:
        plan = json.loads(Path(os.environ[PLAN]).read_text(encoding="utf-8"))
        changed = [str(file) for file in there if plan["read"].get(str(file)) != sha256_of(file)]
        if changed:
            raise CodeChanged(", ".join(changed))
        digests = plan["digests"]
    else:
        code = read_code(known=trees_file(folder) if main else None)
        digests = code.digests
        if main:
            os.environ[PLAN] = write_plan(Path(folder, "plans"), code, there)
    return {s.removesuffix(".py").replace("/", "_", 1): digest for s, digest in digests.items()}


def tree_digest(tree: ast.Module) -> str:
    """Digest of a module's syntax tree: comments and formatting don't count."""
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


class CodeChanged(Exception):
    """Code is not what Snakemake planned with."""

    def __init__(self, file: str) -> None:
        super().__init__(
            f"{file} was changed after Snakemake had read it for this run, so the record of this "
            "job would name other code than ran. Its outputs are not kept; run snakemake again."
        )


def watch_imports() -> None:
    """Note each module of this library that is imported from now on, and those that already are."""
    sys.meta_path.insert(0, _Finder())
    if os.environ.get(CHECKED):
        _plan_with(os.environ[CHECKED])
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "triptych" and module.__file__:
            _compare(module.__file__, Path(module.__file__).read_bytes())


def check_against_plan() -> None:
    """Compare all that this job imported, its script and each later import with Snakemake's plan.

    Raises CodeChanged for the first that differs by more than comments; so does a later import.
    """
    plan = os.environ.get(PLAN)
    if not plan:  # a script that is run without Snakemake
        return
    _plan_with(plan)
    os.environ[CHECKED] = plan
    for file, text in [*_texts.items()]:
        _compare(file, text)
    main = sys.modules["__main__"]
    copy = Path(getattr(main, "__real_file__", main.__file__) or "")
    _, preamble, own = copy.read_bytes().partition(_PREAMBLE_ENDS)
    if preamble:  # Snakemake runs a copy, and sets __file__ to the script that it copied
        _compare(str(main.__file__), own)


def _plan_with(path: str) -> None:
    """Compare with the plan of this file from now on."""
    _plan.update(json.loads(Path(path).read_text(encoding="utf-8"))["code"])


def _compare(file: str, text: bytes) -> None:
    """Note a module's text, and compare it with the plan, as far as one is known."""
    _texts[file] = text
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
    """Notes a module's text, and takes bytecode that was compiled from that text only (Python marks
    bytecode by the source's time in whole seconds: a second edit within one would be missed)."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        text = self.get_data(path)
        _compare(path, text)
        return {"mtime": zlib.crc32(text), "size": len(text)}


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
    import importlib.metadata

    imported = {name.partition(".")[0] for name in sys.modules}
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        # packages_distributions() of the standard library parses each line of each RECORD.
        packages = set((distribution.read_text("top_level.txt") or "").split())
        if not packages:
            lines = (distribution.read_text("RECORD") or "").splitlines()
            packages = {line.partition("/")[0].partition(".")[0] for line in lines}
        if packages & imported:
            metadata = distribution.metadata  # which is parsed at each call
            found.setdefault(metadata["Name"], metadata["Version"])
    versions = {name: found[name] for name in sorted(found)}
    return {"python": ".".join(map(str, sys.version_info[:3])), **versions}


def cpu_name() -> str:
    """The processor's own name, as far as the system tells it."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
