"""python docs/figures.py: write the figures of README.md and docs/ from the files with them.

Claims come from resources/published, jobs, rules and edges from Snakemake's dry run, hours,
downloads and disk from resources/costs.csv, the demo's values from its config, speed from what
`make bench` and docs/measured.py wrote (docs/results/bench). `make docs` runs this;
tests/test_docs.py fails where a page says something else.
"""

import csv
import math
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "docs")]

import benches  # noqa: E402
import published  # noqa: E402

from triptych.apps.listing import Job  # noqa: E402
from triptych.apps.plan import (  # noqa: E402
    Cost,
    planned_run,
    read_costs,
    total_cost,
    wall_seconds,
)
from triptych.core.config import read_config  # noqa: E402
from triptych.report.claims import DECIDES, WITH_SUBSTITUTES  # noqa: E402
from triptych.scale import FILES, REHEARSAL  # noqa: E402
from triptych.studies import NAMES, predictions  # noqa: E402
from triptych.studies import claims as claims_of_studies  # noqa: E402

PAGES = (
    *(ROOT / name for name in ("README.md", "Makefile")),
    *(run / "README.md" for run in (published.LONG_RUN, published.BCQ_RUN)),
    *sorted((ROOT / "docs").glob("*.md")),
)
CLAIMS = ROOT / "docs/claims.md"
SCALES = {name: files for name, files in FILES.items() if name != REHEARSAL}
SAID = {
    r"papers' (\d+) claims": "claims",
    r"(\d+) of our own": "own",
    r"demo's (\d+) jobs": "jobs",
    r"workflow's (\d+) rules": "rules",
    r"(\d+) minutes on two cores": "minutes",
    r"(\d+) GPU hours of the audio study": "audio",
    r"(\d+) GPU hours in all": "gpu",
    r"([\d,]+) short sound scenes": "scenes",
    r"([\d,]+) scenes of 2 to 3 s": "scenes",
    r"In ([\d,]+) updates BC": "updates",
    r"\| ([\d,]+) of \d+; BC five": "updates",
    r"updates, seeds \| [\d,]+ of (\d+)": "batch",
    r"([\d,]+) steps a task": "transitions",
    r"(\d+) or \d+ evaluations": "fewest",
    r"\d+ or (\d+) evaluations": "most",
    r"demo's (\d+) batches": "batches",
    r"(\d+) batches of \d from the shipped": "batches",
    r"512 x 512 pixels in \[([\d.]+) s\]": "command",
}
"""Phrases whose number, wherever a page has them, is one of `numbers`."""
GROUPS = {
    "style": {
        "style_optimize": "Version 1: optimise pictures",
        "style_train": "Version 2: train networks",
        "style_stylize": "paint photographs",
        "style_video": "paint a film",
        "style_time": "measure seconds",
    },
    "audio": {
        "audio_pretrain": "pretrain pairs of encoders",
        "audio_finetune": "fine-tune with new captions",
        "audio_score": "score models and ensembles",
    },
    "rl": {
        "rl_prune": "prune at initialisation",
        "rl_train": "prune, train, evaluate",
        "rl_latency": "time actions",
    },
}
"""Rules that the diagram names; those of *_inputs.smk and *_report.smk are two nodes more."""


@cache
def planned(scale: str) -> tuple[list[Job], dict[str, Cost]]:
    """The jobs of a scale and what one of each rule takes."""
    overlays = [ROOT / file for file in SCALES[scale]]
    jobs = planned_run(ROOT, overlays).jobs
    return jobs, read_costs(ROOT / "resources/costs.csv", scale)


def declared(pattern: str = "*") -> list[str]:
    """Names of the rules that files of rules/ declare, a study's own target left out."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "rules").glob(f"{pattern}.smk"))]
    names = re.findall(r"^(?:rule|use rule \w+ as) (\w+)", "\n".join(texts), re.MULTILINE)
    return [name for name in names if "_" in name]


def configured() -> dict[str, int]:
    """Values of the demo's config that pages state."""
    demo = read_config(ROOT)
    rl, style, synthesis = demo["rl"], demo["style"], demo["audio"]["synthesis"]
    runs = [style["optimize"], *filter(None, style["experiments"].values())]
    evaluations = [run["evaluations"] for run in runs if "evaluations" in run]
    return {
        "scenes": sum(n for key, n in synthesis.items() if key not in ("seconds", "seed")),
        "updates": rl["training"]["updates"],
        "batch": rl["training"]["batch"],
        "transitions": rl["collect"]["transitions"],
        "fewest": min(evaluations),
        "most": max(evaluations),
        "batches": style["training"]["schedule"]["batches"],
    }


def numbers() -> dict[str, float]:
    """What the phrases of SAID say, by name."""
    papers = [row["paper"] for row in _published()]
    jobs, _ = planned("demo")
    at_paper, costs = planned("paper")
    of_audio = [job for job in at_paper if job.rule.startswith("audio")]
    return configured() | {
        "command": round(benches.command_seconds(), 1),
        "claims": len(papers) - papers.count("this project"),
        "own": papers.count("this project"),
        "jobs": len(jobs),
        "rules": len(
            {
                *declared(),
                *(job.rule for scale in SCALES for job in planned(scale)[0] if job.outputs),
            }
        ),
        "minutes": _minutes(demo_runs()[0]),
        "audio": round(total_cost(of_audio, costs).gpu_hours),
        "gpu": round(total_cost(at_paper, costs).gpu_hours),
    }


def scales() -> str:
    """A row for each scale: jobs, time, size, and how many claims it decides."""
    lines = [
        "| scale | jobs | takes | downloads | disk | claims decided | with substitutes |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in _scale_rows())])


def scales_in_short() -> str:
    """README's rows: scale, time, downloads and how many of the claims it can decide."""
    head = f"| scale | takes | data to fetch | of {len(_published())} claims, it can decide |"
    lines = [head, "| --- | --- | ---: | ---: |"]
    for scale, _, takes, downloads, _, decided, _ in _scale_rows():
        lines.append(f"| {scale} | {takes} | {downloads} | {decided} |")
    return "\n".join(lines)


@cache
def _scale_rows() -> list[list[str]]:
    rows = []
    for scale in SCALES:
        jobs, costs = planned(scale)
        decided = [*decided_at(scale).values()]
        rows.append(
            [
                f"`{scale}`",
                f"{len(jobs)}",
                _takes(scale, jobs, costs),
                _size(total_cost(jobs, costs).download_mb),
                _size(total_cost(jobs, costs).disk_mb),
                f"{decided.count(DECIDES)}",
                f"{decided.count(WITH_SUBSTITUTES)}",
            ]
        )
    return rows


def _takes(scale: str, jobs: list[Job], costs: dict[str, Cost]) -> str:
    total = total_cost(jobs, costs)
    if total.gpu_hours:
        return f"*computed*: {total.gpu_hours:.3g} GPU hours"
    if scale == "demo":
        return f"*measured*: {_minutes(demo_runs()[0])} minutes on two cores"
    two = wall_seconds(jobs, costs, 2, 0) / 60
    core = total.core_seconds / 3600
    return f"*measured*: {core:.1f} core hours, so {two / 60:.0f} hours on two cores"


def demo_runs() -> list[dict[str, str]]:
    """The demos that docs/measured.py has kept, the quickest first."""
    return sorted(_rows(benches.BENCH / "demo.csv"), key=lambda row: float(row["seconds"]))


def demo() -> str:
    """A row for each processor and instruction set that a demo was measured on."""
    lines = ["| | minutes | first picture | first table | seconds of a core | measured |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in demo_runs():
        cells = [
            f"{row['cores']} cores of an {row['processor']}, {row['instructions']}",
            f"{_minutes(row)}",
            *(f"{row[f'first_{what}_seconds']} s" for what in ("picture", "table")),
            f"{int(row['core_seconds']):,}",
            row["date"],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _minutes(row: Mapping[str, str]) -> int:
    """From Snakemake's start to the last job's end, begun minutes as whole ones."""
    return math.ceil(float(row["seconds"]) / 60)


def _size(megabytes: float) -> str:
    if megabytes < 1:
        return "none"
    if megabytes >= 1e6:
        return f"{megabytes / 1e6:.1f} TB"
    return f"{megabytes / 1e3:.1f} GB" if megabytes < 1e5 else f"{megabytes / 1e3:.0f} GB"


def workflow() -> str:
    """The demo's jobs by groups of rules: a Mermaid diagram with the edges of the files."""
    node, text = {}, defaultdict(list)
    for study, shown in GROUPS.items():
        own = {**{rule: rule for rule in declared(study)}}
        own |= {rule: f"{study}_inputs" for rule in declared(f"{study}_inputs")}
        of_study = (job.rule for job in planned("demo")[0] if job.rule.startswith(f"{study}_"))
        node |= {rule: f"{study}_report" for rule in of_study} | own | {f"{study}_claims": "report"}
        labels = {f"{study}_inputs": "data and weights", **shown}
        labels[f"{study}_report"] = "tables and figures"
        text[study] = [f'    {name}["{label}"]' for name, label in labels.items()]
    kept = {name for study, shown in GROUPS.items() for name in shown}
    kept |= {f"{study}_{part}" for study in GROUPS for part in ("inputs", "report")}
    jobs = [job for job in planned("demo")[0] if job.outputs]
    node |= {job.rule: "report" for job in jobs if job.rule.startswith("report_")}
    edges = _edges(jobs, node, kept | {"report"})
    lines = ["```mermaid", "flowchart LR"]
    for study, nodes in text.items():
        lines += [f"  subgraph {study}[{NAMES[study]}]", *nodes, "  end"]
    lines += ['  report["claims.csv, report.html, manifest.json"]']
    return "\n".join([*lines, *(f"  {one} --> {other}" for one, other in edges), "```"])


def claims() -> str:
    """The page of all claims: what each says, where, and by which rule it is judged."""
    published = {row["id"]: row for row in _published()}
    parts = [
        "# Claims\n\nEvery claim with the rule that judges it, fixed before the run that it judges."
        " The report adds what a run needs\nto test it. Written by `make docs`; "
        "[Results](results.md) says what the verdicts mean."
    ]
    scales = deciding_scales()
    for study, of_study in claims_of_studies().items():
        lines = ["| claim | says | judged by | decided from |", "| --- | --- | --- | --- |"]
        for claim in of_study:
            row = published[claim.id]
            says = f"{row['claim']} ({row['where']})"
            cells = (f"`{claim.id}`", says, claim.rule, scales[claim.id])
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        document = (ROOT / f"report/{study}.md").read_text("utf-8")
        parts.append("\n".join([f"#{document.splitlines()[0]}", "", *lines]))
    return "\n\n".join(parts) + "\n"


def deciding_scales() -> dict[str, str]:
    """The smallest scale that decides each claim, and that which shows it with substitutes."""
    words = {DECIDES: "{}", WITH_SUBSTITUTES: "{} with substitutes"}
    smallest: dict[str, dict[str, str]] = defaultdict(dict)
    for scale in SCALES:
        for claim, decided in decided_at(scale).items():
            smallest[claim].setdefault(decided, scale)
    return {
        claim: "; ".join(text.format(scales[how]) for how, text in words.items() if how in scales)
        or "no shipped scale"
        for claim, scales in smallest.items()
    }


@cache
def decided_at(scale: str) -> dict[str, str]:
    """Whether a scale decides each claim."""
    sources = yaml.safe_load((ROOT / "resources/sources.yaml").read_text("utf-8"))
    config = read_config(ROOT, [ROOT / file for file in SCALES[scale]])
    return {claim: unmet.decided for claim, unmet in predictions(config, sources).items()}


def _published() -> list[dict[str, str]]:
    files = sorted((ROOT / "resources/published").glob("*_claims.csv"))
    return [row for file in files for row in _rows(file)]


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _edges(jobs: list[Job], node: Mapping[str, str], kept: set[str]) -> list[tuple[str, str]]:
    """Which kept node needs which, through those that are not kept; shortcuts left out."""
    maker = {file: node[job.rule] for job in jobs for file in job.outputs}
    before: dict[str, set[str]] = defaultdict(set)
    for job in jobs:
        for file in job.inputs:
            places = (file, *map(str, Path(file).parents))
            found = next((maker[place] for place in places if place in maker), None)
            if found and found != node[job.rule]:
                before[node[job.rule]].add(found)

    def reached(name: str) -> set[str]:
        """The nearest kept nodes before one."""
        near: set[str] = set()
        for each in before[name]:
            near |= {each} if each in kept else reached(each)
        return near

    direct = {name: reached(name) - {name} for name in kept}

    def all_before(name: str) -> set[str]:
        return direct[name].union(*map(all_before, direct[name]), set())

    return sorted(
        (one, name)
        for name, others in direct.items()
        for one in others
        if not any(one in all_before(each) for each in others - {one})
    )


BLOCKS = {
    made.__name__: made
    for made in (
        *(scales, scales_in_short, demo, workflow),
        *(published.pruning, published.longer, published.bcq),
        *(benches.bench_rl, benches.bench_rl_gpu, benches.bench_rl_pruned),
        *(benches.bench_style, benches.bench_command, benches.bench_audio),
    )
}
"""What writes the text that stands on a page between marks with its name."""


def filled(text: str) -> str:
    """A page with its figures, and with what stands between the marks of a block, written anew."""
    for pattern, name in SAID.items():
        if re.search(pattern, text):
            said = f"{numbers()[name]:,}"
            text = re.sub(
                pattern, lambda found, said=said: found[0].replace(found[1], said, 1), text
            )
    for name, made in BLOCKS.items():
        block = re.compile(rf"(<!-- {name}: .*? -->\n).*?(\n<!-- end -->)", re.DOTALL)
        if block.search(text):
            content = made()
            text = block.sub(lambda found, content=content: found[1] + content + found[2], text)
    return text


if __name__ == "__main__":
    CLAIMS.write_text(claims(), encoding="utf-8")
    for page in PAGES:
        if not page.is_symlink():
            page.write_text(filled(page.read_text("utf-8")), encoding="utf-8")
