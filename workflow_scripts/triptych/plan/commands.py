"""The console command `triptych plan`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triptych.core.cost import GPUS
from triptych.core.errors import InputError

DESCRIPTION = """\
What a run of the workflow will take, before it starts: jobs, GPU hours, disk, downloads, money.

Snakemake builds the graph of all jobs; each study counts the operations of its own, on the true
shapes and without computing anything. Run it in the folder of the workflow.
"""

EXAMPLES = """\
examples:
  triptych plan --configfile config/paper.yaml
  triptych plan --configfile config/paper.yaml my.yaml --gpu a40
  triptych plan --calibrate --configfile config/overnight.yaml
  triptych plan --scales
"""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    parser = commands.add_parser(
        "plan",
        help="say what a run will take and settle: jobs, GPU hours, disk, downloads, money",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--configfile",
        nargs="*",
        type=Path,
        default=[],
        metavar="FILE",
        help="laid over config.yaml, as for snakemake",
    )
    parser.add_argument(
        "--gpu",
        choices=tuple(GPUS),
        help="of the table by rule (default: one that was measured, else a100)",
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="first measure a core of this machine, for two minutes; plans take it from then on",
    )
    parser.add_argument(
        "--scales",
        action="store_true",
        help="instead all shipped scales: what each takes and decides, and what more would cost",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help="put the tables between the marks in this Markdown file, instead of printing them "
        "(with --scales also resources/scales.csv, which the report reads)",
    )
    parser.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> int:
    for file in options.configfile:
        if not file.exists():
            raise InputError(f"--configfile {file}: there is no such file")
    root = Path.cwd()
    if options.calibrate:
        from triptych.plan.calibration import calibrate
        from triptych.plan.dry_run import read_config

        calibrate(root, read_config(root, options.configfile))
    if options.scales:
        import pandas as pd

        from triptych.core.files import write_csv
        from triptych.core.source import source_of
        from triptych.plan.scales_page import scales_page

        if source_of(root) != root:
            raise InputError(
                f"--scales plans what a checkout ships, and {root} is a folder of your own; run it "
                "in the checkout, or here without --scales"
            )
        complete = True
        text, rows = scales_page(root)
        if options.write:
            write_csv(pd.DataFrame(rows), root / "resources" / "scales.csv")
    else:
        complete, text = page_text(root, options.configfile, options.gpu)
    if options.write:
        from triptych.plan.pages import insert

        insert(options.write, text)
    else:
        print(text, end="")
    return 0 if complete else 1


def page_text(root: Path, configfiles: Sequence[Path], gpu: str | None = None) -> tuple[bool, str]:
    """Whether every row of the studies' tables has its job, and the plan as Markdown."""
    import yaml

    from triptych.plan.dry_run import dry_run, read_config

    found = dry_run(root, configfiles)
    config = read_config(root, configfiles)

    from triptych.core.source import source_of
    from triptych.plan.calibration import measured_core
    from triptych.plan.measured import calibrated
    from triptych.plan.pages import plan_page
    from triptych.plan.planned import SOURCES, measured_seconds, planned
    from triptych.plan.records import KEPT, read
    from triptych.plan.settles import all_foreseen

    source = source_of(root)
    gpus = calibrated(read(source / KEPT))
    default = next((name for name, each in gpus.items() if each.measured_on), "a100")
    plan = planned(found, config, source / SOURCES)
    measured = measured_seconds(root, found, configfiles)
    core = None if config["device"] == "cuda" else measured_core(root)
    claims = all_foreseen(config, yaml.safe_load((source / SOURCES).read_text(encoding="utf-8")))
    return not plan.missing, plan_page(plan, found, gpu or default, measured, gpus, core, claims)
