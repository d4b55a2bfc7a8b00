"""The console command about a run's results: `triptych verify`."""

import argparse
from pathlib import Path
from typing import Any

from triptych.apps import command

VERIFY = """\
Compare results with their manifest.json, which a whole run leaves last: every output and source by
its hash, every job's record, and what lies there of other runs. Ends with 1 when something differs.
Run it where snakemake ran.
"""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "whether results/ is what the run made, whole and unedited"
    verify = command(commands, "verify", _verify, summary, VERIFY)
    verify.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        help="the results folder (default: results); below its prefix where a module made it",
    )


def _verify(options: argparse.Namespace) -> int:
    from triptych.report.manifest import read_manifest, verify

    file = options.results / "manifest.json"
    problems = verify(file, options.results / "provenance")
    for problem in problems:
        print(problem)
    run = read_manifest(file)
    changed = ", with changes" if run["commit"] and not run["clean"] else ""
    print(
        f"{len(run['outputs'])} files of {len(run['jobs'])} jobs, scale {run['scale']}, "
        f"commit {run['commit'] or 'no commit'}{changed}: "
        + (f"{len(problems)} differences" if problems else "all as it was made")
    )
    return 1 if problems else 0
