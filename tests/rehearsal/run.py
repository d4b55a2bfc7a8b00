"""Rehearse the scale `beyond` or `paper`: every rule with its true shapes, on synthetic inputs.

python tests/rehearsal/run.py FOLDER [--cores N] [--scale NAME] [--overlay FILE ...] [--broken]
    [TARGET ...]

FOLDER gets a copy of the checkout, whose resources/sources.yaml names a server on this machine, and
the files that it serves, of the targets' studies. Run again with the same targets to go on where a
rehearsal stopped, with the code as it is by then; delete FOLDER to begin anew. The exit status
tells whether every rule that the targets need at that scale has run and no job failed.

With --broken some sources break (broken_sources.py), for good: what had been made of them is
deleted, what can be made is made, and Snakemake's last words list what is missing. The exit status
tells whether that is what needs those sources, and nothing else.
"""

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import yaml
from audio_inputs import make_audio
from broken_sources import break_sources, lost_outputs
from sources import ROOT, Sources, make_rl, make_style, real_sources

from triptych.apps.listing import ASKS, Job, listed_jobs
from triptych.scale import BEYOND, FILES, PAPER

COPIED = ("Snakefile", "config.yaml", "config", "rules", "workflow_scripts", "envs", "profiles")
COPIED += ("report", "resources", "docs")
REHEARSAL = "config/rehearsal.yaml"
CONFIG = ("--config", "scale=rehearsal")
MAKERS = {"rl": make_rl, "style": make_style, "audio": make_audio}
"""Of the synthetic inputs, by study."""


def copy_checkout(target: Path) -> None:
    """What a run of the workflow needs, without the records of earlier downloads."""
    target.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "locks")
            shutil.copytree(ROOT / name, target / name, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy2(ROOT / name, target / name)


def write_inputs(served: Path, address: str, targets: list[str]) -> tuple[Sources, dict[str, str]]:
    """The synthetic files, the sources.yaml that leads to them, and the environment for them."""
    sources, environment = real_sources(), {}
    for study, make in MAKERS.items():
        if study in targets or not set(targets) <= set(MAKERS):
            part, variables = make(served, address)
            sources |= part
            environment |= variables
    return sources, environment


class _Handler(SimpleHTTPRequestHandler):
    """The files of a folder, the hub's lists among them at their addresses."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        """Answer; whoever asks for a file's beginning alone hangs up before the end."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Say nothing: the jobs' logs tell what was asked for."""


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve the files below `folder` and yield the server's address, without a slash at the end.

    port: 0 for any that is free.
    """
    server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def snakemake(*arguments: str) -> list[str]:
    """A command line of Snakemake, with the interpreter that runs this."""
    return [sys.executable, "-m", "snakemake", *arguments]


def planned_rules(checkout: Path, targets: list[str], *overlays: str) -> set[str]:
    """Names of the rules that the targets need with these overlays of the config."""
    files = [checkout / overlay for overlay in overlays]
    jobs, _ = listed_jobs(checkout, *targets, "--forceall", overlays=files)
    return {job.rule for job in jobs}


def planned_jobs(checkout: Path, *arguments: str, overlays: Sequence[str]) -> list[Job]:
    """The jobs that the rehearsal's run would start now, with these overlays of the config."""
    files = [checkout / overlay for overlay in overlays]
    return listed_jobs(checkout, *arguments, *CONFIG, overlays=files)[0]


def delete_outputs(checkout: Path, outputs: Iterable[Sequence[str]]) -> None:
    """Delete what jobs with these outputs have made."""
    for path in (checkout / name for names in outputs for name in names):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def clean_environment() -> dict[str, str]:
    """This process's, without what could lead jobs to other code or away from this machine."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def benchmarks(checkout: Path) -> pd.DataFrame:
    """What each rule's finished jobs took: jobs, seconds, CPU seconds, peak megabytes."""
    rows = [
        pd.read_csv(path, sep="\t", na_values="-").iloc[-1:].assign(rule=path.parent.name)
        for path in (checkout / "results" / "benchmarks").glob("*/*.tsv")
    ]
    shown = {"jobs": ("s", "size"), "seconds": ("s", "sum"), "cpu_seconds": ("cpu_time", "sum")}
    return pd.concat(rows).groupby("rule").agg(**shown, peak_megabytes=("max_rss", "max"))


def main() -> int:
    """Rehearse; the exit status is 0 when every rule has run and no job failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cores", default="all")
    said = "whose rules and shapes"
    parser.add_argument("--scale", choices=(PAPER, BEYOND), default=BEYOND, help=said)
    said = "laid over the scale's config, such as config/clotho.yaml; it may be given again"
    parser.add_argument("--overlay", action="append", default=[], metavar="FILE", help=said)
    said = "break some sources for good, and list what is missing at the end"
    parser.add_argument("--broken", action="store_true", help=said)
    parser.add_argument("targets", nargs="*", default=["all"])
    given = parser.parse_intermixed_args()
    checkout, served = given.folder.resolve() / "checkout", given.folder.resolve() / "served"
    served.mkdir(parents=True, exist_ok=True)
    copy_checkout(checkout)
    files = FILES[given.scale]
    expected = planned_rules(checkout, given.targets, *files, *given.overlay)
    # An overlay has its own models and stages, and the rehearsal's amounts where it has none.
    overlays = (*files, REHEARSAL, *given.overlay)
    jobs = partial(planned_jobs, checkout, *given.targets, overlays=overlays)
    began = time.monotonic()
    # Addresses are among the jobs' params, so a second run keeps the port.
    known = given.folder / "inputs.yaml"
    inputs = yaml.safe_load(known.read_text()) if known.exists() else {"port": 0}
    with serving(served, inputs["port"]) as address:
        if "sources" not in inputs:
            sources, environment = write_inputs(served, address, given.targets)
            port = int(address.rpartition(":")[2])
            inputs = {"port": port, "sources": sources, "environment": environment}
            print(f"inputs written in {time.monotonic() - began:.0f} s")
        breaks = given.broken and not inputs.get("broken")
        if breaks:
            break_sources(inputs["sources"], served)
            inputs["broken"] = True
        known.write_text(yaml.safe_dump(inputs))
        (checkout / "resources" / "sources.yaml").write_text(yaml.safe_dump(inputs["sources"]))
        if breaks:
            delete_outputs(checkout, lost_outputs(jobs("--forceall")))
        environment = clean_environment() | inputs["environment"]
        # Two trainings at true size may need more memory than there is; jobs say what they need.
        memory = 0.9 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        options = ["--cores", given.cores, "--resources", f"mem_mb={memory / 1e6:.0f}"]
        options += ["--show-failed-logs", "--keep-going", "--scheduler", "greedy"]
        options += ["--quiet", "host", "reason", *CONFIG, "--configfile", *overlays]
        command = snakemake(*given.targets, *options)
        code = subprocess.run(command, cwd=checkout, env=environment).returncode
    rules = benchmarks(checkout)
    print(rules.sort_values("seconds", ascending=False).to_string(float_format="%.0f"))
    print(
        f"{len(rules)} rules, {rules['jobs'].sum()} jobs, {rules['seconds'].sum():.0f} s, at most "
        f"{rules['peak_megabytes'].max():.0f} MB in a job; this run took "
        f"{(time.monotonic() - began) / 60:.1f} minutes"
    )
    if given.broken:
        left = {job.outputs for job in jobs() if job.rule != ASKS}  # which would ask again
        wrong = left ^ lost_outputs(jobs("--forceall"))
        problems = [f"made or missing against expectation: {', '.join(files)}" for files in wrong]
    else:
        missing = sorted(expected - set(rules.index))
        problems = [
            f"a rule of the scale {given.scale} that has not run: {rule}" for rule in missing
        ]
        problems += ["a job has failed"] * (code != 0)
    if problems:
        print(*problems, sep="\n")
        print("The rehearsal FAILED. Mend it and run again: finished jobs are kept.")
        return 1
    targets = ", ".join(given.targets)
    if given.broken:
        print(f"The rehearsal passed: of {targets}, all is made but what needs broken sources.")
    else:
        print(
            f"The rehearsal passed: every rule that {targets} needs has run with its true shapes."
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
