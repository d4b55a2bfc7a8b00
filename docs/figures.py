"""python docs/figures.py: write the figures of README.md and docs/ from the files with them.

Claims come from resources/published, jobs, rules and edges from Snakemake's dry run, hours,
downloads and disk from resources/costs.csv, profiles from profiles/, speed from what `make bench`
and docs/measured.py wrote (docs/results/bench). `make docs` runs this;
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
from statistics import fmean

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from triptych.apps.listing import Job  # noqa: E402
from triptych.apps.plan import Cost, planned_run, read_costs, wall_seconds  # noqa: E402
from triptych.core.config import read_config  # noqa: E402
from triptych.report.claims import DECIDES, WITH_SUBSTITUTES  # noqa: E402
from triptych.report.statistics import Interval, mean_interval, ratio_interval  # noqa: E402
from triptych.rl.report.labels import METHOD_LABELS, TASK_LABELS  # noqa: E402
from triptych.scale import FILES, REHEARSAL  # noqa: E402
from triptych.studies import predictions, studies  # noqa: E402

PAGES = (
    *(ROOT / name for name in ("README.md", "Makefile", "docs/results/bc-long/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
)
CLAIMS = ROOT / "docs/claims.md"
RUN, BCQ_RUN, EXPERT_RUN = (
    ROOT / "docs/results" / name for name in ("pruning-95", "pruning-bcq-95", "pruning-halfcheetah")
)
"""What was published of the runs of BC, of BCQ, and of BC on data of a better HalfCheetah."""
LONG_RUN = ROOT / "docs/results/bc-long"
BENCH = ROOT / "docs/results/bench"
STYLE_TASKS = {
    "forward": "a photograph",
    "conditional": "a photograph in 4 styles",
    "closure": "Version 1, one evaluation",
    "step": "a training step, 4 images",
}
AUDIO_MODELS = {"passt_n": "PaSST-N", "passt_s": "PaSST-S", "passt_s15": "PaSST-S15"}
AUDIO_TASKS = {"forward": "a segment", "step": "a training step", "embedding": "a test split"}
SCALES = {name: files for name, files in FILES.items() if name != REHEARSAL}
SAID = {
    r"papers' (\d+) claims": "claims",
    r"(\d+) of our own": "own",
    r"demo's (\d+) jobs": "jobs",
    r"workflow's (\d+) rules": "rules",
    r"(\d+) profiles": "profiles",
    r"(\d+) minutes on two cores": "minutes",
    r"(\d+) GPU hours of the audio study": "audio",
    r"(\d+) GPU hours in all": "gpu",
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
SIDES = ["plain", "best plain", "ours, float32", "ours, bf16"]
BENCHES = ("bench_rl", "bench_rl_gpu", "bench_rl_pruned", "bench_style", "bench_command")
BENCHES += ("bench_audio",)
BLOCKS = ("scales", "scales_in_short", "demo", "workflow", "pruning", "longer", *BENCHES)
"""Functions whose text stands on a page between marks with their names."""
TITLES = {"style": "Style transfer", "audio": "Audio retrieval", "rl": "Offline RL"}


@cache
def planned(scale: str) -> tuple[list[Job], list[Cost]]:
    """The jobs of a scale and what each takes."""
    overlays = [ROOT / file for file in SCALES[scale]]
    jobs = planned_run(ROOT, overlays).jobs
    costs = read_costs(ROOT / "resources/costs.csv", scale)
    return jobs, [costs.get(job.rule, Cost()) for job in jobs]


def declared(pattern: str = "*") -> list[str]:
    """Names of the rules that files of rules/ declare, a study's own target left out."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "rules").glob(f"{pattern}.smk"))]
    names = re.findall(r"^(?:rule|use rule \w+ as) (\w+)", "\n".join(texts), re.MULTILINE)
    return [name for name in names if "_" in name]


def numbers() -> dict[str, int]:
    """What the phrases of SAID say, by name."""
    papers = [row["paper"] for row in _published()]
    jobs, _ = planned("demo")
    at_paper = list(zip(*planned("paper"), strict=True))
    audio = sum(cost.gpu_hours for job, cost in at_paper if job.rule.startswith("audio"))
    return {
        "claims": len(papers) - papers.count("this project"),
        "own": papers.count("this project"),
        "jobs": len(jobs),
        "rules": len(declared()),
        "profiles": sum(path.is_dir() for path in (ROOT / "profiles").iterdir()),
        "minutes": _minutes(demo_runs()[0]),
        "audio": round(audio),
        "gpu": round(sum(cost.gpu_hours for _, cost in at_paper)),
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
    sources = yaml.safe_load((ROOT / "resources/sources.yaml").read_text("utf-8"))
    rows = []
    for scale, files in SCALES.items():
        jobs, costs = planned(scale)
        config = read_config(ROOT, [ROOT / file for file in files])
        decided = [each.decided for each in predictions(config, sources).values()]
        rows.append(
            [
                f"`{scale}`",
                f"{len(jobs)}",
                _takes(scale, jobs, costs),
                _size(sum(cost.download_mb for cost in costs)),
                _size(sum(cost.disk_mb for cost in costs)),
                f"{decided.count(DECIDES)}",
                f"{decided.count(WITH_SUBSTITUTES)}",
            ]
        )
    return rows


def _takes(scale: str, jobs: list[Job], costs: list[Cost]) -> str:
    if hours := sum(cost.gpu_hours for cost in costs):
        return f"*computed*: {hours:.3g} GPU hours"
    if scale == "demo":
        return f"*measured*: {_minutes(demo_runs()[0])} minutes on two cores"
    two = wall_seconds(jobs, costs, 2, 0) / 60
    core = sum(cost.core_seconds for cost in costs) / 3600
    return f"*measured*: {core:.1f} core hours, so {two / 60:.0f} hours on two cores"


def demo_runs() -> list[dict[str, str]]:
    """The demos that docs/measured.py has kept, the quickest first."""
    return sorted(_rows(BENCH / "demo.csv"), key=lambda row: float(row["seconds"]))


def demo() -> str:
    """A row for each processor and instruction set that a demo was measured on."""
    lines = ["| | minutes | first picture | first table | seconds of a core |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    for row in demo_runs():
        cells = [
            f"{row['cores']} cores of an {row['processor']}, {row['instructions']}",
            f"{_minutes(row)}",
            *(f"{row[f'first_{what}_seconds']} s" for what in ("picture", "table")),
            f"{int(row['core_seconds']):,}",
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
        own |= {rule: f"{study}_report" for rule in declared(f"{study}_report")}
        node |= own
        labels = {f"{study}_inputs": "data and weights", **shown}
        labels[f"{study}_report"] = "tables and figures"
        text[study] = [f'    {name}["{label}"]' for name, label in labels.items()]
    kept = {name for study, shown in GROUPS.items() for name in shown}
    kept |= {f"{study}_{part}" for study in GROUPS for part in ("inputs", "report")}
    node |= {rule: "report" for rule in declared("report")}
    edges = _edges(planned("demo")[0], node, kept | {"report"})
    lines = ["```mermaid", "flowchart LR"]
    for study, nodes in text.items():
        lines += [f"  subgraph {study}[{TITLES[study]}]", *nodes, "  end"]
    lines += ['  report["claims.csv, report.html, manifest.json"]']
    return "\n".join([*lines, *(f"  {one} --> {other}" for one, other in edges), "```"])


def pruning() -> str:
    """Scores of the published runs: BC with normalised and raw observations, BCQ normalised.

    A column for each task, and one for HalfCheetah's better data.
    """
    groups = {"normalised": _usual(RUN), "raw": _raw(RUN), "BCQ": _usual(BCQ_RUN)}
    better = _better()
    policies = [_data(RUN, task) for task in TASK_LABELS] + [_data(EXPERT_RUN, "halfcheetah")]
    lines = [
        f"| observations (or BCQ), method | {' | '.join(TASK_LABELS.values())} "
        "| HalfCheetah, better data |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| the data's policy | {' | '.join(f'{score:.1f}' for score in policies)} |",
    ]
    methods = list(METHOD_LABELS)
    for group, found in groups.items():
        for method, level in sorted(found, key=lambda key: (methods.index(key[0]), key[1])):
            cells = [found[method, level][task].text(1) for task in TASK_LABELS]
            again = better.get((group, method, level))
            cells.append(again.text(1) if again else "")
            named = METHOD_LABELS[method] + (f", {level:g}%" if level else "")
            lines.append(f"| {group}, {named} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _data(run: Path, task: str) -> float:
    """Normalised score of the policy whose data a run learned from."""
    (row,) = _rows(run / f"rl/{task}/dataset.csv")
    return float(row["score_normalised_mean"])


def _better() -> dict[tuple[str, str, float], Interval]:
    """Scores on HalfCheetah's better data, by observations, method and sparsity in percent."""
    episodes: dict[tuple[str, str, float], dict[str, list[float]]] = {}
    for path in sorted(EXPERT_RUN.glob("rl/halfcheetah/paper/*/scores.csv")):
        for row in _rows(path):
            if row["update"] == "10000":
                key = row["observations"], row["method"], float(row["sparsity_percent"])
                seeds = episodes.setdefault(key, defaultdict(list))
                seeds[row["seed"]].append(float(row["score_normalised"]))
    return {
        key: mean_interval([fmean(each) for each in seeds.values()])
        for key, seeds in episodes.items()
    }


def _raw(run: Path) -> dict[tuple[str, float], dict[str, Interval]]:
    """Scores on raw observations of each method and sparsity, by task."""
    seeds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in _rows(run / "tables/rl_sensors.csv"):
        if not row["name"] and row["observations"] == "raw":
            seeds[row["method"]][row["task"]].append(float(row["value"]))
    return {
        (method, 0.0 if method == "dense" else 95.0): {
            task: mean_interval(values) for task, values in of_task.items()
        }
        for method, of_task in seeds.items()
    }


def _usual(run: Path) -> dict[tuple[str, float], dict[str, Interval]]:
    """What a published run's Figures 1 and 2 show of each method and sparsity, by task."""
    found: dict[tuple[str, float], dict[str, Interval]] = defaultdict(dict)
    for row in _rows(run / "tables/rl_figure1.csv") + _rows(run / "tables/rl_figure2.csv"):
        ends = (float(row[name] or "nan") for name in ("value", "low", "high"))
        found[row["method"], float(row["sparsity_percent"])][row["task"]] = Interval(*ends)
    return found


def longer() -> str:
    """Scores after 50,000 updates, and what is left of the dense score on the same observations."""
    seeds: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for task in TASK_LABELS:
        for row in _rows(LONG_RUN / f"rl/{task}/scores.csv"):
            if row["update"] == "50000":
                key = row["observations"], row["method"], task
                episodes = seeds.setdefault(key, defaultdict(list))
                episodes[int(row["seed"])].append(float(row["score_normalised"]))
    means = {
        key: [fmean(episodes) for _, episodes in sorted(of.items())] for key, of in seeds.items()
    }
    lines = [
        f"| observations, method | {' | '.join(TASK_LABELS.values())} |",
        "| --- | ---: | ---: | ---: |",
    ]
    for kind, method in dict.fromkeys(key[:2] for key in means):
        cells = [mean_interval(means[kind, method, task]).text(1) for task in TASK_LABELS]
        level = "" if method == "dense" else ", 95%"
        lines.append(f"| {kind}, {METHOD_LABELS[method]}{level} | {' | '.join(cells)} |")
        if kind == "raw" and method != "dense":
            ratios = [
                ratio_interval(means[kind, method, task], means[kind, "dense", task]).text()
                for task in TASK_LABELS
            ]
            lines.append(f"| of the raw dense score | {' | '.join(ratios)} |")
    return "\n".join(lines)


def bench_rl_gpu() -> str:
    """As `bench_rl`, on a GPU."""
    return bench_rl("rl_gpu.csv")


def bench_rl(file: str = "rl.csv") -> str:
    """Updates a second of stacked networks: a row a stack and precision."""
    plain, *stacks = [
        row
        for row in _rows(BENCH / file)
        if row["compared"] != "pruned" and row.get("algorithm", "BCQ") == "BCQ"
    ]
    return _table(
        ["", "updates a second", "times the plain loop's"],
        [["one network at a time, float32", plain["updates_per_second"], "1"]]
        + [
            [
                f"{row['networks']} stacked, {row['precision']}",
                row["updates_per_second"],
                _ratio(row, "ratio"),
            ]
            for row in stacks
        ],
        [plain],
    )


def bench_rl_pruned() -> str:
    """Updates a second of networks pruned to 95% beside their dense twins, limited to AVX2."""
    rows = _rows(BENCH / "rl_avx2.csv")
    case = ("algorithm", "networks", "precision")
    dense = {
        tuple(row[name] for name in case): row["updates_per_second"]
        for row in rows
        if row["compared"] == "stacked"
    }
    lines = [
        [
            f"{row['algorithm']}, {row['networks']} stacked",
            dense[tuple(row[name] for name in case)],
            row["updates_per_second"],
            _ratio(row, "ratio"),
        ]
        for row in rows
        if row["compared"] == "pruned"
    ]
    return _table(["", "dense", "95% pruned", "times the dense twin's"], lines, rows)


def bench_style() -> str:
    """Seconds of each task at each size, plain code beside ours."""
    rows = _rows(BENCH / "style.csv")
    lines = []
    for task, said in STYLE_TASKS.items():
        of_task = [row for row in rows if row["compared"] == task]
        for size in dict.fromkeys(row["size"] for row in of_task):
            sides = {row["side"]: row for row in of_task if row["size"] == size}
            seconds = {name: float(row["seconds"]) for name, row in sides.items() if row["seconds"]}
            best = min(s for name, s in seconds.items() if name not in ("float32", "bf16"))
            known = (seconds["plain"], best, seconds["float32"], seconds.get("bf16"))
            shown = ["-" if each is None else f"{each:.3g}" for each in known]
            ours = "bf16" if "bf16" in seconds else "float32"
            lines.append([f"{said}, {size} px", *shown, _ratio(sides[ours], "ahead")])
    return _table(["", *SIDES, "ratio"], lines, rows)


def bench_command() -> str:
    """Seconds of whole processes that paint a photograph: a row a command."""
    rows = [row for row in _rows(BENCH / "style.csv") if row["compared"] == "command"]
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    took = {(row["side"], row["size"]): f"{float(row['seconds']):.2f}" for row in rows}
    names = dict.fromkeys(row["side"] for row in rows)
    lines = [[name, *(took[name, size] for size in sizes)] for name in names]
    return _table(["", *(f"{size} px" for size in sizes)], lines, rows)


def bench_audio() -> str:
    """Seconds of each task of the audio encoders, plain code beside ours."""
    rows = _rows(BENCH / "audio.csv")
    lines = []
    for task in dict.fromkeys((row["what"], row["model"], row["size"]) for row in rows):
        what, model, size = task
        sides = {
            row["precision"]: row
            for row in rows
            if (row["what"], row["model"], row["size"]) == task
        }
        took = {name: float(row["seconds_ours"]) for name, row in sides.items()}
        ours, plain = (took.pop("float32"), took.pop("bf16")), sides["float32"]["seconds_plain"]
        shown = [float(plain), min([float(plain), *took.values()]), *ours]
        said = f"{AUDIO_MODELS[model]}, {AUDIO_TASKS[what]} ({size.replace(' ', ', ')})"
        ratio = sides["bf16"]["ahead"] or sides["bf16"]["ratio"]
        lines.append([said, *(f"{each:.3g}" for each in shown), f"{float(ratio):.2f}"])
    return _table(["", *SIDES, "ratio"], lines, rows)


def _ratio(row: Mapping[str, str], name: str) -> str:
    median, low, high = (float(row[name + end]) for end in ("", "_minimum", "_maximum"))
    return f"{median:.2f} ({low:.2f} to {high:.2f})"


def _table(heads: list[str], lines: list[list[str]], measured: list[dict[str, str]]) -> str:
    """Markdown, and below it the machine, threads and day of the first row."""
    parts = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    first = measured[0]
    said = f"{first['device']}, {first['threads']} threads, {first['date']}."
    return "\n".join([*(f"| {' | '.join(part)} |" for part in parts), "", said])


def claims() -> str:
    """The page of all claims: what each says, where, and by which rule it is judged."""
    published = {row["id"]: row for row in _published()}
    parts = [
        "# Claims\n\nEvery claim with the rule that judges it, fixed before the run that it judges."
        " The report adds what a run needs\nto test it. Written by `make docs`; "
        "[Results](results.md) says what the verdicts mean."
    ]
    for study in studies().values():
        lines = ["| claim | says | judged by |", "| --- | --- | --- |"]
        for claim in study.CLAIMS:
            row = published[claim.id]
            cells = (f"`{claim.id}`", f"{row['claim']} ({row['where']})", claim.rule)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        parts.append("\n".join([f"## {study.TITLE}", "", *lines]))
    return "\n\n".join(parts) + "\n"


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


def filled(text: str) -> str:
    """A page with its figures, and with what stands between the marks of a block, written anew."""
    for pattern, name in SAID.items():
        if re.search(pattern, text):
            said = str(numbers()[name])
            text = re.sub(
                pattern, lambda found, said=said: found[0].replace(found[1], said, 1), text
            )
    for name in BLOCKS:
        block = re.compile(rf"(<!-- {name}: .*? -->\n).*?(\n<!-- end -->)", re.DOTALL)
        if block.search(text):
            content = globals()[name]()
            text = block.sub(lambda found, content=content: found[1] + content + found[2], text)
    return text


if __name__ == "__main__":
    CLAIMS.write_text(claims(), encoding="utf-8")
    for page in PAGES:
        if not page.is_symlink():
            page.write_text(filled(page.read_text("utf-8")), encoding="utf-8")
