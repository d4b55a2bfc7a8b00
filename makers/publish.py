"""Copy a run's tables, figures and rows into a folder small enough for a repository.

python -m makers.publish results docs/results/NAME --study rl --leave-out style_figure7

What is copied are files of results/manifest.json and the manifest itself, which has config, commit
and hashes. Run it where snakemake ran.
"""

import argparse
import fnmatch
import json
import shutil
import sys
from collections.abc import Collection
from pathlib import Path

from triptych.core.errors import InputError
from triptych.report.manifest import verify
from triptych.studies import NAMES

MOST_BYTES = 5_000_000
KINDS = ("tables/{0}_*.csv", "tables/{0}_*.md", "figures/{0}_*.svg")
RAW = ("dataset", "scores", "queries", "runs")
"""Files from which tables can be computed anew: one row an episode, a query or an image."""


def publish(
    results: Path, target: Path, studies: Collection[str], left_out: Collection[str] = ()
) -> list[str]:
    """Copy the files of these studies; return their names below `results`.

    left_out: names of tables and figures. Raises InputError where the target exists, where results
    differ from their manifest, or for more than MOST_BYTES.
    """
    if target.exists():
        raise InputError(f"{target} exists; give another folder, or delete it")
    manifest = results / "manifest.json"
    if problems := verify(manifest, results / "provenance").problems:
        raise InputError(f"{results} isn't what its run made, for instance {problems[0]}")
    kinds = [kind.format(study) for study in studies for kind in KINDS]
    kinds += [f"{study}/*/{raw}.csv" for study in studies for raw in RAW]
    outputs = json.loads(manifest.read_text(encoding="utf-8"))["outputs"]
    below = [Path(path).relative_to(results).as_posix() for path in outputs]
    names = ["manifest.json", *(name for name in below if name == "claims.csv")]
    for name in below:
        wanted = any(fnmatch.fnmatch(name, kind) for kind in kinds)
        if wanted and Path(name).stem not in left_out:
            names.append(name)
    sizes = {name: (results / name).stat().st_size for name in names}
    if sum(sizes.values()) > MOST_BYTES:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        raise InputError(
            f"{sum(sizes.values()) / 1e6:.1f} MB are more than a repository should carry "
            f"({MOST_BYTES / 1e6:g} MB); the largest: {', '.join(largest)}"
        )
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(results / name, target / name)
    return names


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser("makers.publish", description="copy a run's results")
    parser.add_argument("results", type=Path, help="results folder of a whole run")
    parser.add_argument("target", type=Path, help="folder to make")
    parser.add_argument("--study", nargs="+", default=[*NAMES], choices=NAMES)
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="NAME")
    options = parser.parse_args()
    try:
        names = publish(options.results, options.target, options.study, options.leave_out)
    except InputError as problem:
        print(problem, file=sys.stderr)
        return 2
    print(f"{options.target}: {len(names)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
