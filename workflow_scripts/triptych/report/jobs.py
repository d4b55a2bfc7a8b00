"""Jobs of a run: the origin of each product, and time and memory by rule."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from triptych.report.manifest import Record, of_this_run
from triptych.report.summary import Bar, Bars
from triptych.report.timings import duration


@dataclass(frozen=True)
class Origin:
    """The job that made a product.

    script: in the repository. before: number of jobs by rule whose results it read, directly or
    not. files: below results/, the data first.
    """

    rule: str
    script: str
    before: Mapping[str, int]
    files: Sequence[str]


def origins(records: Mapping[str, Record]) -> dict[str, Origin]:
    """Origins of these jobs' figures and tables by name, and of their other outputs by path."""
    by_name: dict[str, Origin] = {}
    for record in records.values():
        rule, study = record["rule"], record["rule"].partition("_")[0]
        scripts = (name for name in record["params"]["code"] if name.startswith(f"{study}/"))
        script = f"workflow_scripts/{next(scripts, '')}"
        made_before = of_this_run(records, record["inputs"]).values()
        before = Counter(job["rule"] for job in made_before)
        products: dict[str, list[str]] = defaultdict(list)
        for file in sorted(record["outputs"], key=lambda file: not file.endswith(".csv")):
            shown = Path(file).parent.name in ("figures", "tables")
            if not file.endswith(".html"):  # a part of the page
                products[Path(file).stem if shown else file].append(file.rpartition("results/")[2])
        by_name |= {name: Origin(rule, script, before, files) for name, files in products.items()}
    return by_name


def time_by_rule(records: Mapping[str, Record]) -> Bars:
    """Seconds of the jobs of each rule, longest first, and the memory of the largest job.

    records: of jobs, by path. Snakemake's benchmark file of a job takes the place of its last
    attempt's seconds where there is one.
    """
    seconds: dict[str, list[float]] = defaultdict(list)
    memory: dict[str, float] = defaultdict(float)
    for path, record in records.items():
        rule = record["rule"]
        seconds[rule].append(_seconds(path, record))
        memory[rule] = max(memory[rule], record["peak_memory_bytes"])
    bars = [
        Bar(
            label=rule,
            value=sum(parts),
            text=f"{len(parts)} job{'s' * (len(parts) > 1)}, {duration(sum(parts))}, "
            f"{memory[rule] / 1e9:.2f} GB",
        )
        for rule, parts in sorted(seconds.items(), key=lambda item: (-sum(item[1]), item[0]))
    ]
    devices = ", ".join(sorted({record["device"] for record in records.values()}))
    caption = (
        f"{len(records)} jobs took {duration(sum(bar.value for bar in bars))} on {devices}, less "
        "where they ran side by side. A bar is a rule; memory is that of its largest job. From "
        "Snakemake's files in `results/benchmarks`."
    )
    return Bars(caption, bars)


def _seconds(path: str, record: Record) -> float:
    """Seconds of all attempts at a job. path: of its record."""
    file = Path(path.replace("provenance/", "benchmarks/", 1)).with_suffix(".tsv")
    if not file.is_file():
        return float(record["seconds"])
    return float(pd.read_csv(file, sep="\t")["s"].iloc[-1]) + sum(record["attempts"][:-1])
