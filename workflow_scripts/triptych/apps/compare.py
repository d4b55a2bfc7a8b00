"""The console command `triptych compare`."""

import argparse
from pathlib import Path
from typing import Any

from triptych.apps import command

DESCRIPTION = """\
Compare the tables and claims of two results folders, cell by cell: numbers with their difference,
and whether it goes beyond the intervals; claims with another verdict; rows of one run alone.
"""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "what changed between two runs, cell by cell"
    parser = command(commands, "compare", _compare, summary, DESCRIPTION)
    parser.add_argument("first", type=Path, metavar="A", help="a results folder")
    parser.add_argument("second", type=Path, metavar="B", help="another")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="write it as a page")


def _compare(options: argparse.Namespace) -> int:
    from triptych.report.compare import compare, text

    compared = compare(options.first, options.second)
    print(text(compared))
    if options.html:
        from triptych.core.files import atomic_path
        from triptych.report.compare import compare_page

        page = compare_page(compared, str(options.first), str(options.second))
        with atomic_path(options.html) as temporary:
            temporary.write_text(page, encoding="utf-8")
    return 0
