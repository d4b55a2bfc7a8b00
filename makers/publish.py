"""Copy a run's tables, figures and rows into a folder small enough for a repository.

python -m makers.publish results docs/results/NAME --study rl --leave-out style_figure7

Copied are files that results/manifest.json lists, no links, and the manifest itself without
style.contact. Run it where snakemake ran.
"""

import argparse
import fnmatch
import json
import shutil
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from triptych.core.errors import InputError
from triptych.report.manifest import digest, read_manifest, verify
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
    differ from their manifest, for a link, or for more than MOST_BYTES.
    """
    if target.exists():
        raise InputError(f"{target} exists; give another folder, or delete it")
    file = results / "manifest.json"
    if problems := verify(file, results / "provenance"):
        raise InputError(f"{results} isn't what its run made, for instance {problems[0]}")
    manifest = without_contact(read_manifest(file))
    kinds = [kind.format(study) for study in studies for kind in KINDS]
    kinds += [f"{study}/*/{raw}.csv" for study in studies for raw in RAW]
    outputs = map(Path, manifest["outputs"])
    below = [p.relative_to(results).as_posix() for p in outputs if p.is_relative_to(results)]
    names = [
        name
        for name in below
        if any(fnmatch.fnmatch(name, kind) for kind in ("claims.csv", *kinds))
        and Path(name).stem not in left_out
    ]
    for name in names:
        if (results / name).resolve() != results.resolve() / name:
            raise InputError(
                f"{results / name}: a link, or below one; publish copies what jobs wrote: put the "
                "file itself there"
            )
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
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    (target / "manifest.json").write_text(text, encoding="utf-8")
    return ["manifest.json", *names]


def without_contact(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest whose config names no e-mail address, with its own hash made anew."""
    style = {**manifest["config"].get("style", {}), "contact": ""}
    manifest = {**manifest, "config": {**manifest["config"], "style": style}}
    return {**manifest, "sha256": digest(manifest)}


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
