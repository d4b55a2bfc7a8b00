"""Preparation of a run: config, sources of downloads, the studies, digests of code."""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from getpass import getuser
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from triptych.core.config import (
    ConfigError,
    check_config,
    check_paths,
    check_unique_keys,
    completed,
    read_yaml,
    with_types,
)
from triptych.core.job_lock import SNAKEMAKE, this_process
from triptych.core.provenance import (
    LIBRARY,
    RESUME,
    Code,
    link_to,
    planned_code,
    python_path,
)
from triptych.scale import scale_of
from triptych.studies import workflows

INFRASTRUCTURE = True

RUNS: list[dict[str, Any]] = []
"""Config, source and scale of each run that this process has planned, for `triptych plan`."""


class Planned(NamedTuple):
    """Values that the rules read.

    config: complete; sources: resources/sources.yaml; scale: the label of the run's results;
    studies: each study's Workflow by its name; code: digests; shipped: a prefix of the paths of
    files that the repository ships.
    """

    config: dict[str, Any]
    sources: dict[str, Any]
    scale: str
    studies: dict[str, Any]
    code: Code
    shipped: str


def _name_user() -> None:
    """Give a user without a name, as of `docker run --user 1234`, one that Snakemake and PyTorch
    find."""
    try:
        getuser()
    except (KeyError, OSError):
        os.environ["USER"] = str(os.getuid())


def _end_with_terminal() -> None:
    """Let a lost terminal (SIGHUP) end Snakemake as SIGTERM does, which leaves no lock; not under
    nohup, which ignores it."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        if os.getsid(0) == os.getpid():  # the kernel tells its jobs when this process has ended
            os.killpg(0, number)
        os.kill(os.getpid(), signal.SIGTERM)

    with suppress(ValueError):  # in another thread than the main one
        if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
            signal.signal(signal.SIGHUP, end)


def results_of_elsewhere(results: Path) -> str:
    """A warning where Snakemake, by whose records a change of the config is noticed, has fewer of
    them than a folder has of finished jobs: results that were copied, or .snakemake deleted."""
    finished = sum(1 for _ in (results / "provenance").rglob("*.json"))
    if finished <= sum(1 for path in Path(".snakemake/metadata").rglob("*") if path.is_file()):
        return ""
    return (
        f"{results} has results of {finished} jobs, and .snakemake/metadata does not say of all "
        "what they were made from: those of another config pass for this one's. Copy .snakemake "
        "along with results, or make them anew once (--forceall)."
    )


def plan(
    config: Mapping[str, Any],
    source: Path,
    files: Sequence[str | Path],
    main: bool,
    arguments: Sequence[str] = (),
) -> Planned:
    """Check a config, and set the environment that all jobs get.

    config: as Snakemake has merged it; source: the folder of the workflow; files: the Snakefile and
    the config's files; main: False for the Snakemake of a cluster's job; arguments: of --config.
    Raises ConfigError, and CodeChanged where a cluster's job would read other files than planned.
    """
    read = [
        *map(Path, files),
        *(source / name for name in ("Snakefile", "config.yaml", "config/schema.yaml")),
        *sorted([*source.glob("config/*/*.yaml"), *source.glob("rules/*.smk")]),
        source / "resources" / "sources.yaml",
    ]
    for file in files[1:]:
        check_unique_keys(Path(file))
    if os.pathsep in str(LIBRARY):
        raise ConfigError(
            f"{LIBRARY}: no job can find a library whose path has {os.pathsep!r} in it, which ends "
            "a folder in PYTHONPATH; move the checkout to a path without one"
        )
    for folder in map(Path, ("results", ".snakemake")):
        if folder.is_symlink() and not folder.exists():
            raise ConfigError(
                f"{folder} is a link to {folder.readlink()}, where there is nothing: make that "
                "folder, mount its disk, or delete the link"
            )
    config = completed(with_types(config, arguments), source)
    check_config(config, source / "config" / "schema.yaml")
    sources = read_yaml(source / "resources" / "sources.yaml")
    # Snakemake knows inputs by their paths: elsewhere than in a checkout those of shipped files
    # begin with this link, so that another clone or wheel with the same files makes nothing stale.
    here = source == Path.cwd()
    os.environ["PYTHONPATH"] = python_path()
    os.environ["MPLBACKEND"] = "agg"  # that of a notebook is in no environment of jobs
    _name_user()
    _end_with_terminal()
    os.environ[SNAKEMAKE] = this_process()
    os.environ[RESUME] = config["resume"]
    scale = scale_of(config, source)
    RUNS.append({"config": config, "source": str(source), "scale": scale})
    studies = {name: module.Workflow(config, sources) for name, module in workflows().items()}
    fronts = [(source / name).resolve() for name in ("Snakefile", "workflow/Snakefile")]
    if main and Path(files[0]).resolve() in fronts:
        check_paths(config, source)  # those of a module as jobs are planned (rules/common.smk)
    return Planned(
        config,
        sources,
        scale,
        studies,
        planned_code(read, main),
        "" if here else f"{link_to(source, '.snakemake/triptych/shipped')}/",
    )
