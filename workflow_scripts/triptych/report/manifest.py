"""results/manifest.json: files, sources and jobs of a run, and their verification."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema

from triptych.core.errors import InputError
from triptych.core.files import atomic_path, sha256_of

Record = dict[str, Any]
THREADS = 4  # that hash files side by side
HASHES = {"type": "object", "additionalProperties": {"type": "string"}}
SHAPE = {
    "type": "object",
    "required": ["scale", "config", "commit", "clean", "jobs", "outputs", "sources", "sha256"],
    "properties": {
        "jobs": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["sha256"],
                "properties": {"sha256": {"type": "string"}},
            },
        },
        "outputs": HASHES,
        "sources": HASHES,
    },
}
"""JSON schema of a manifest, as far as it is read."""


def read_records(folder: str | os.PathLike[str]) -> dict[str, Record]:
    """The provenance of all jobs below a folder, by path, oldest first: of two jobs that made the
    same file, such as a rule before and after it was renamed, the later one counts. Raises
    ValueError for a broken file."""
    records = {}
    files = Path(folder).rglob("*.json")
    for path in map(str, sorted(files, key=lambda file: (file.stat().st_mtime_ns, file))):
        try:
            records[path] = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: not JSON ({error}); delete it and rerun its job") from error
    return records


def of_this_run(records: Mapping[str, Record], files: Iterable[str]) -> dict[str, Record]:
    """The records of the jobs that these files come from, directly or not."""
    maker = {
        output: path for path, record in records.items() for output in record.get("outputs", ())
    }
    jobs: dict[str, Record] = {}
    waiting = list(files)
    while waiting:
        path = _maker(waiting.pop(), maker)
        if path is not None and path not in jobs:
            jobs[path] = records[path]
            waiting += records[path].get("inputs", ())
    return dict(sorted(jobs.items()))


def precisions(folder: str | os.PathLike[str], files: Iterable[str]) -> dict[str, set[str]]:
    """The precisions that `precision: auto` became in the jobs of these files, by rule.

    folder: of the jobs' records.
    """
    by_rule: dict[str, set[str]] = {}
    for record in of_this_run(read_records(folder), files).values():
        by_rule.setdefault(record["rule"], set()).update(
            choice["precision"] for choice in record.get("precision", ())
        )
    return by_rule


def _maker(file: str, maker: Mapping[str, str]) -> str | None:
    """The record of the job that made a file, or the folder that it lies in."""
    for name in (file, *map(str, Path(file).parents)):
        if name in maker:
            return maker[name]
    return None


def write_manifest(
    path: str | os.PathLike[str],
    records: Mapping[str, Record],
    files: Iterable[str],
    config: Mapping[str, Any],
    scale: str,
    source: Path = Path(),
) -> None:
    """Describe the run that made these files: its jobs, config, commit of the checkout `source`,
    hashes of outputs, and of sources, which no job made."""
    jobs = of_this_run(records, files)
    outputs = [output for job in jobs.values() for output in job["outputs"]]
    read = {file for job in jobs.values() for file in job.get("inputs", ())}
    maker = dict.fromkeys(outputs, "")
    sources = [file for file in sorted(read) if _maker(file, maker) is None]
    manifest: Record = {
        "scale": scale,
        "config": config,
        **_commit(source),
        "jobs": {
            name: {"rule": job["rule"], "attempts": job["attempts"], "sha256": sha256_of(name)}
            for name, job in jobs.items()
        },
        "outputs": _hashes(outputs),
        "sources": _hashes(sources),
    }
    manifest["sha256"] = digest(manifest)
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def read_manifest(path: str | os.PathLike[str]) -> Record:
    """Read a manifest. Raises InputError where there is none, or one that was edited."""
    if not Path(path).is_file():
        raise InputError(
            f"{path}: no such file below {Path.cwd()}; a whole run makes it last, in the folder "
            "where snakemake ran: run this there, or name its results folder"
        )
    try:
        known: Record = json.loads(Path(path).read_text(encoding="utf-8"))
        jsonschema.validate(known, SHAPE)
        edited = known["sha256"] != digest(known)
    except (ValueError, jsonschema.ValidationError, RecursionError) as error:
        raise InputError(
            f"{path}: not a manifest of a run; delete it and run snakemake again"
        ) from error
    if edited:
        raise InputError(f"{path} was edited: its own hash differs; run snakemake again")
    return known


def verify(manifest: str | os.PathLike[str], provenance: str | os.PathLike[str]) -> list[str]:
    """Compare the files of a run with its manifest; return the differences, a sentence each.

    Finds outputs, sources and records that are gone or changed, records of other runs, and files
    among tables and figures that the run didn't make. Raises InputError without a manifest as a
    run left it.
    """
    known = read_manifest(manifest)
    records = {name: job["sha256"] for name, job in known["jobs"].items()}
    problems = [
        problem
        for kind, hashes in (
            ("output", known["outputs"]),
            ("source", known["sources"]),
            ("record", records),
        )
        for problem in _differences(hashes, kind)
    ]
    for record in sorted(map(str, Path(provenance).rglob("*.json"))):
        later = Path(record).parent.name.endswith(("report_manifest", "_page"))
        if record not in records and not later:
            problems.append(f"{record}: the record of a job of another run (an earlier config?)")
    return [*problems, *_unknown_files(known["outputs"])]


def _differences(known: Mapping[str, str], kind: str) -> Iterator[str]:
    files = {name for name in known if Path(name).is_file()}
    now = _hashes(files)
    for name, digest in known.items():
        if name not in files:
            again = f"; snakemake --cores 8 {name} makes it again" if kind == "output" else ""
            yield f"{name}: this {kind} is gone{again}"
        elif now[name] != digest:
            yield f"{name}: this {kind} isn't what it was when the run ended"


def _unknown_files(outputs: Mapping[str, str]) -> Iterator[str]:
    """Files beside the tables and figures that no job of the run made."""
    for folder in sorted({Path(name).parent for name in outputs}):
        if folder.name in ("tables", "figures", "submissions"):
            for file in sorted(folder.iterdir()):
                if file.is_file() and str(file) not in outputs:
                    yield f"{file}: no job of this run made it"


def _hashes(paths: Iterable[str]) -> dict[str, str]:
    """Hexadecimal SHA-256 of each file, and of each below a folder, by path."""
    files = []
    for path in sorted(paths):
        below = sorted(Path(path).rglob("*")) if Path(path).is_dir() else [Path(path)]
        files += [str(file) for file in below if file.is_file()]
    with ThreadPoolExecutor(THREADS) as pool:
        return dict(zip(files, pool.map(sha256_of, files), strict=True))


def digest(manifest: Mapping[str, Any]) -> str:
    """Hexadecimal SHA-256 of a manifest without its own `sha256`."""
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _commit(source: Path) -> dict[str, Any]:
    """The commit of a checkout and whether it is unchanged; else None, and why.

    Hooks and `git rebase --exec` name their own repository in GIT_DIR; a checkout may be another
    user's, whose monitor of files is not run.
    """
    reading = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "--no-optional-locks")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(source), *reading, *arguments],
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="backslashreplace",
            env={**environment, "LC_ALL": "C"},
        )
        return done.stdout.strip()

    why = "there is no program git where the manifest was written"
    if shutil.which("git"):
        try:
            # A wheel may lie inside somebody else's checkout.
            if source.samefile(git("rev-parse", "--show-toplevel")):
                commit = git("rev-parse", "--verify", "HEAD")
                return {"commit": commit, "clean": not git("status", "--porcelain")}
            why = "the workflow's folder is no checkout of its own"
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            why = f"git says: {said.strip().partition(chr(10))[0]}"
    return {"commit": None, "clean": False, "why_no_commit": why}
