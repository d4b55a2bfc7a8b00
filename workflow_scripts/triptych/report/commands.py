"""The console commands `triptych verify` and `triptych compare`."""

import argparse
from pathlib import Path
from typing import Any

DESCRIPTION = """\
Compare results with their manifest.json, which a whole run leaves last: every output and source by
its hash, every job's record, and what lies there of other runs. Ends with 1 when something differs.
Run it where snakemake ran.
"""

COMPARE = """\
Compare the tables and claims of two results folders, cell by cell: numbers with their difference,
and whether it goes beyond the intervals; claims with another verdict; rows of one run alone.
"""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of `triptych`."""
    parser = commands.add_parser(
        "verify",
        help="whether results/ is what the run made, whole and unedited",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        help="the results folder (default: results); below its prefix where a module made it",
    )
    parser.set_defaults(run=_verify)
    parser = commands.add_parser(
        "compare",
        help="what changed between two runs, cell by cell",
        description=COMPARE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("first", type=Path, metavar="A", help="a results folder")
    parser.add_argument("second", type=Path, metavar="B", help="another")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="write it as a page, drawn")
    parser.set_defaults(run=_compare)


def _verify(options: argparse.Namespace) -> int:
    from triptych.report.manifest import verify

    verified = verify(options.results / "manifest.json", options.results / "provenance")
    for problem in verified.problems:
        print(problem)
    found = f"{len(verified.problems)} differences" if verified.problems else "all as it was made"
    print(
        f"{verified.files} files of {verified.jobs} jobs, scale {verified.scale}, "
        f"commit {verified.commit}: {found}"
    )
    return 1 if verified.problems else 0


def _compare(options: argparse.Namespace) -> int:
    from triptych.report.compare import compare, text

    compared = compare(options.first, options.second)
    print(text(compared))
    if options.html:
        from triptych.core.files import atomic_path
        from triptych.report.compare_page import compare_page

        page = compare_page(compared, str(options.first), str(options.second))
        with atomic_path(options.html) as temporary:
            temporary.write_text(page, encoding="utf-8")
    return 0
