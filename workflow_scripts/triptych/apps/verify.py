"""The console command `triptych verify`."""

import argparse
from pathlib import Path
from typing import Any

from triptych.apps import command
from triptych.core.errors import InputError

DESCRIPTION = """\
Compare results with their manifest.json, which a whole run leaves last: every output and source by
its hash, every job's record, and what lies there of other runs. Ends with 1 when something differs.
Run it where snakemake ran.
"""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "whether results/ is what the run made, whole and unedited"
    parser = command(commands, "verify", _verify, summary, DESCRIPTION)
    parser.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        help="the results folder (default: results); below its prefix where a module made it",
    )


def _verify(options: argparse.Namespace) -> int:
    from triptych.report.manifest import verify

    manifest = options.results / "manifest.json"
    if not manifest.is_file():
        raise InputError(
            f"there is no {manifest} below {Path.cwd()}: a whole run leaves it last, in the folder "
            "where snakemake ran; run this there, or name its results folder"
        )
    verified = verify(manifest, options.results / "provenance")
    for problem in verified.problems:
        print(problem)
    found = f"{len(verified.problems)} differences" if verified.problems else "all as it was made"
    print(
        f"{verified.files} files of {verified.jobs} jobs, scale {verified.scale}, "
        f"commit {verified.commit}: {found}"
    )
    return 1 if verified.problems else 0
