"""The console commands about a run's results: `triptych verify`, `publish` and `compare`."""

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.apps import command
from triptych.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

VERIFY = """\
Compare results with their manifest.json, which a whole run leaves last: every output and source by
its hash, every job's record, and what lies there of other runs. Ends with 1 when something differs.
Run it where snakemake ran.
"""
PUBLISH = """\
Copy what a whole run found into a folder small enough for a repository: tables (CSV, Markdown),
the rows behind them, figures (SVG), claims with their verdicts, manifest, config, hours by rule,
and a README.md that shows them. `triptych compare` sets another run against it. Run it where
snakemake ran.
"""
COMPARE = """\
Compare the tables and claims of two results folders, cell by cell: numbers with their difference,
and whether it goes beyond the intervals; claims with another verdict; rows of one run alone.
"""
MOST_BYTES = 5_000_000
RAW = ("dataset", "scores", "queries", "runs")
"""Files from which tables can be computed anew: one row an episode, a query or an image."""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of `triptych`."""
    summary = "whether results/ is what the run made, whole and unedited"
    verify = command(commands, "verify", _verify, summary, VERIFY)
    verify.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        help="the results folder (default: results); below its prefix where a module made it",
    )

    summary = "copy a run's tables, figures, claims and hours into a folder for others to read"
    publish = command(commands, "publish", _publish, summary, PUBLISH)
    publish.add_argument("results", type=Path, help="the results folder of a whole run")
    publish.add_argument("target", type=Path, help="the folder to make")
    publish.add_argument(
        "--study", nargs="+", default=[], metavar="NAME", help="these alone (style, audio, rl)"
    )
    publish.add_argument(
        "--leave-out",
        nargs="+",
        default=[],
        metavar="NAME",
        help="not these tables and figures (style_figure7)",
    )
    publish.add_argument(
        "--about", default="", metavar="TEXT", help="what was run, for the head of README.md"
    )

    summary = "what changed between two runs, cell by cell"
    compare = command(commands, "compare", _compare, summary, COMPARE)
    compare.add_argument("first", type=Path, metavar="A", help="a results folder")
    compare.add_argument("second", type=Path, metavar="B", help="another")
    compare.add_argument("--all", action="store_true", help="print every cell that changed")


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


def _publish(options: argparse.Namespace) -> int:
    size = publish(options.results, options.target, options.study, options.leave_out, options.about)
    print(f"{options.target}: {size / 1e6:.1f} MB, begin with README.md")
    return 0


def publish(
    results: Path,
    target: Path,
    names: Sequence[str] = (),
    left_out: Sequence[str] = (),
    about: str = "",
) -> int:
    """Write the folder; return its bytes.

    names: of the studies to publish, all where none is given; left_out: of tables and figures;
    about: what was run, in a sentence or two.
    Raises InputError where the target exists, where results differ from their manifest, or for
    more than MOST_BYTES.
    """
    import pandas as pd
    import yaml

    from triptych.report.manifest import of_this_run, read_records, verify
    from triptych.report.tables import markdown
    from triptych.report.timings import timing_table
    from triptych.studies import NAMES

    if unknown := set(names) - set(NAMES):
        raise InputError(f"--study {' '.join(unknown)}; allowed are {', '.join(NAMES)}")
    if target.exists():
        raise InputError(f"{target} exists; give another folder, or delete it")
    if problems := verify(results / "manifest.json", results / "provenance").problems:
        raise InputError(
            f"{results} isn't what its run made, for instance {problems[0]}; triptych verify lists "
            "every difference"
        )
    of = tuple(f"{name}_" for name in names or NAMES)
    kinds = [f"tables/{one}*.csv" for one in of] + [f"tables/{one}*.md" for one in of]
    kinds += [f"figures/{one}*.svg" for one in of] + ["manifest.json"]
    kinds += [f"{name}/**/{raw}.csv" for name in names or NAMES for raw in RAW]
    found = (file for kind in kinds for file in results.glob(kind))
    files = sorted(file for file in found if file.stem not in left_out)
    if (size := sum(file.stat().st_size for file in files)) > MOST_BYTES:
        largest = sorted(files, key=lambda file: file.stat().st_size)[-3:]
        raise InputError(
            f"{results} has {size / 1e6:.1f} MB of tables and figures, of which a repository "
            f"shouldn't carry more than {MOST_BYTES / 1e6:g}: publish one --study, or --leave-out "
            f"some. The largest: {', '.join(file.name for file in reversed(largest))}"
        )
    for file in files:
        (target / file.relative_to(results)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target / file.relative_to(results))
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    records = of_this_run(read_records(results / "provenance"), manifest["outputs"])
    hours = markdown(timing_table({k: r for k, r in records.items() if r["rule"].startswith(of)}))
    (target / "hours.md").write_text(hours, encoding="utf-8")
    (target / "config.yaml").write_text(yaml.safe_dump(manifest["config"]), encoding="utf-8")
    claims = pd.read_csv(results / "claims.csv", keep_default_na=False)
    claims = claims[claims["id"].str.startswith(tuple(one.replace("_", "-") for one in of))]
    claims.to_csv(target / "claims.csv", index=False)
    page = _page(target, manifest, claims, about)
    (target / "README.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    return sum(file.stat().st_size for file in target.rglob("*") if file.is_file())


def _page(
    target: Path, manifest: Mapping[str, Any], claims: "pd.DataFrame", about: str
) -> Iterator[str]:
    """The lines of README.md. A claim of which nothing was measured is named alone."""
    from triptych.report.claims import NOT_TESTABLE
    from triptych.report.tables import Table, markdown

    yield f"# {target.resolve().name}: a run at scale {manifest['scale']}\n"
    if about:
        yield f"{about}\n"
    yield f"Commit {manifest['commit']}{'' if manifest['clean'] else ', with changes'}; config.yaml"
    yield "is what it ran with, hours.md what each rule took and where.\n"
    silent = (claims["verdict"] == NOT_TESTABLE) & (claims["interval"] == "")
    verdicts = claims["verdict"] + claims["seen"].map(lambda seen: f": {seen}" if seen else "")
    shown = claims.assign(verdict=verdicts)[~silent]
    columns = tuple(("", name) for name in ("Claim", "Verdict", "Measured", "Interval", "Reason"))
    rows = tuple(shown[["id", "verdict", "measured", "interval", "reason"]].itertuples(False, None))
    named = ", ".join(claims["id"][silent])
    untested = f"Not testable by this run: {named}." if named else ""
    yield markdown(Table("claims", "Claims.", untested, columns, rows, prose=True))
    for table in sorted((target / "tables").glob("*.md")):
        yield table.read_text(encoding="utf-8")
    for figure in sorted((target / "figures").glob("*.svg")):
        yield f"## {figure.stem}\n\n![{figure.stem}](figures/{figure.name})\n"


def _compare(options: argparse.Namespace) -> int:
    from triptych.report.compare import compare, text

    print(text(compare(options.first, options.second), options.all))
    return 0
