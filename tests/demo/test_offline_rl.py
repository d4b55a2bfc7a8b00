"""Offline RL in tables, claims and pages, recomputed from raw rows by scipy and pandas."""

import math
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from recomputing import NUMBER, ROOT, RUNS, check, each_table, ends, ratio_ends, rows, same_numbers
from scipy import stats

TASKS = {"hopper": "Hopper", "walker2d": "Walker2d", "halfcheetah": "HalfCheetah"}
METHODS = {"snip": "SNIP", "grasp": "GraSP"}
LABELS = METHODS | {
    "dense": "Dense",
    "shuffled": "Shuffled SNIP",
    "shuffled_grasp": "Shuffled GraSP",
    "random": "Random by layer",
    "trained_magnitude": "Magnitude after training",
}
CELL = ["task", "observations", "pruning", "algorithm", "trained_on", "method", "sparsity_percent"]
SCORE, RATIO = ["value", "low", "high"], ["ratio_to_dense", "ratio_low", "ratio_high"]
KEPT = ["task", "networks", "observations", "method", "sparsity_percent", "layer", "name"]
COMPARED = ["first", "second", "task", "algorithm", "sparsity_percent"]


@cache
def evaluations(run):
    """Rows of scores.csv. trained_on is 0 for runs on all transitions."""
    frame = rows(run, "rl/**/scores.csv")
    return frame.assign(trained_on=frame.get("trained_on", pd.Series(dtype=float))).fillna(
        {"trained_on": 0}
    )


@cache
def scores(run):
    """{cell: {seed: mean of its last evaluation}}, a cell being the values of CELL."""
    frame = evaluations(run)
    last = frame[frame["update"] == frame.groupby([*CELL, "seed"])["update"].transform("max")]
    found = {}
    for key, score in last.groupby([*CELL, "seed"])["score_normalised"].mean().items():
        found.setdefault(key[:-1], {})[key[-1]] = score
    return found


def of_cell(run, row, **other):
    """Scores by seed of a row's cell, some of whose columns are others."""
    usual = {"observations": "normalised", "pruning": "default", "trained_on": 0}
    row = usual | dict(row) | other
    return scores(run).get(tuple(row[name] for name in CELL), {})


def paired(one, other):
    """The scores of the seeds that two cells share."""
    seeds = sorted(one.keys() & other.keys())
    return tuple(np.array([cell[seed] for seed in seeds]) for cell in (one, other))


def ratio(run, row):
    """Ratio to the dense score with its two ends, nan where dense runs have no positive mean."""
    above, below = paired(of_cell(run, row), of_cell(run, row, method="dense", sparsity_percent=0))
    if not len(below) or below.mean() <= 0:  # a ratio to less than nothing says nothing
        return (math.nan,) * 3
    return above.mean() / below.mean(), *ratio_ends(above, below)


def middle(parts):
    """Mean of the middle half of all scores together, along the last axis."""
    scores = np.sort(np.concatenate(parts, axis=-1), axis=-1)
    cut = scores.shape[-1] // 4
    return scores[..., cut : scores.shape[-1] - cut].mean(axis=-1)


def middle_reach(parts):
    """Half the interval of `middle`, by a bootstrap of our own seed."""
    generator, drawn = np.random.default_rng(7), []
    parts = [p.mean() + (p - p.mean()) * math.sqrt(len(p) / (len(p) - 1)) for p in parts]
    for part in parts:
        drawn.append(generator.choice(part, (40_000, len(part))))
    alone = []
    for i, values in enumerate(drawn):
        others = [np.tile(part, (len(values), 1)) for part in parts]
        alone.append(middle([*others[:i], values, *others[i + 1 :]]).var())
    freedom = sum(alone) ** 2 / sum(
        v**2 / (len(part) - 1) for v, part in zip(alone, parts, strict=True)
    )
    return stats.t.ppf(0.975, freedom) * middle(drawn).std()


@each_table(
    *("tables/rl_scores", "tables/rl_figure1", "tables/rl_figure2", "tables/rl_criteria"),
    *("tables/rl_small_data", "tables/rl_sensors"),
    raw="rl/**/scores.csv",
)
def test_scores_their_intervals_and_ratios_to_dense(table):
    run, compared = table.parents[1], 0
    for _, row in pd.read_csv(table).iterrows():
        if "input" in row and pd.notna(row["input"]):
            continue  # weights, not scores
        if "seed" in row:
            compared += check(row, {"value": of_cell(run, {**row, "algorithm": "BC"})[row["seed"]]})
            continue
        if row["task"] == "all tasks":
            cells = [of_cell(run, row, task=task) for task in TASKS]
            parts = [np.array([*cell.values()]) for cell in cells]
            compared += check(row, {"value": middle(parts)})
            reach = middle_reach(parts)
            near = {"low": row["value"] - reach, "high": row["value"] + reach}
            compared += check(row, near, abs=0.05 * reach)
            continue
        own = np.array([*of_cell(run, row).values()])
        expected = {"value": own.mean(), "seeds": len(own)}
        expected |= dict(zip(("low", "high"), ends(own), strict=True))
        if "minimum" in row:
            expected |= {"minimum": own.min(), "maximum": own.max()}
            alone = row["method"] == "dense"  # to itself, 1
            expected |= dict(zip(RATIO, ratio(run, row)[: 1 if alone else 3], strict=not alone))
        compared += check(row, expected)
    assert compared


@each_table("tables/rl_scores", raw="tables/rl_scores.md")
def test_scores_as_printed(table):
    """In the table's Markdown and, where it was published, on the page of its run."""
    run, long = (
        table.parents[1],
        pd.read_csv(table).set_index(["algorithm", "method", "task"]).sort_index(),
    )
    labels = {label: name for name, label in LABELS.items()}
    for page in {run / "tables/rl_scores.md", run / "README.md"} - {ROOT / "results/README.md"}:
        block = re.search(r"\*\*Scores .*?(\d[\d.]*)%.*\n\n((?:\|.*\n)+)", page.read_text("utf-8"))
        shown = long[long["sparsity_percent"].isin([0, float(block[1])])]
        for line in block[2].splitlines()[2:]:
            name, *cells = line.strip("| ").split(" | ")
            algorithm, method = name.split(", ")
            of_method = shown.loc[(algorithm, labels[method])]
            tasks = [task for task in (*TASKS, "all tasks") if task in of_method.index]
            columns = [(task, part) for task in tasks for part in (SCORE, RATIO)]
            for (task, part), cell in zip(columns, cells, strict=len(tasks) == 1):
                of_cell = of_method.loc[task, part]
                if NUMBER.search(cell):  # few seeds show no interval, dense no ratio
                    same_numbers(cell, of_cell if "[" in cell else of_cell[:1])


@each_table(
    *("tables/rl_curves", "tables/rl_figure1_curves", "tables/rl_figure2_curves"),
    raw="rl/**/scores.csv",
)
def test_learning_curves(table):
    frame = evaluations(table.parents[1]).query("pruning == 'default' & trained_on == 0")
    frame = frame[frame["observations"] == "normalised"]
    keys = ["task", "algorithm", "method", "sparsity_percent", "update"]
    seeds = frame.groupby([*keys, "seed"])["score_normalised"].mean()
    for _, row in pd.read_csv(table).iterrows():
        own = seeds[tuple(row[key] for key in keys)]
        expected = {"value": own.mean(), "minimum": own.min(), "maximum": own.max()}
        check(row, expected | {"seeds": len(own)})


def more_often(one, other):
    """How often a score of one cell is above a score of the other, along the last axis."""
    x, y = one[..., :, None], other[..., None, :]
    return ((x > y) + (x == y) / 2).mean(axis=(-2, -1))


@each_table("tables/rl_comparisons", raw="rl/**/scores.csv")
def test_methods_two_by_two(table):
    run, generator = table.parents[1], np.random.default_rng(7)
    for _, row in pd.read_csv(table).iterrows():
        sides = {"first": {"method": row["first"]}, "second": {"method": row["second"]}}
        if row["task"] != "all tasks":
            one, other = paired(*(of_cell(run, row, **side) for side in sides.values()))
            low, high = ends(one - other)
            check(row, {"value": (one - other).mean(), "low": low, "high": high})
            continue
        cells = [
            [of_cell(run, row, task=task, **side) for side in sides.values()] for task in TASKS
        ]
        pairs = [[np.array([*cell.values()]) for cell in pair] for pair in cells if all(pair)]
        check(row, {"value": np.mean([more_often(*pair) for pair in pairs])})
        if min(len(scores) for pair in pairs for scores in pair) < 2:
            continue  # one run has no interval
        drawn = [[generator.choice(x, (10_000, len(x))) for x in pair] for pair in pairs]
        more = np.mean([more_often(*pair) for pair in drawn], axis=0)
        for end, share in (("low", 0.025), ("high", 0.975)):  # a bootstrap of few runs has steps
            below = [(more < row[end] - 1e-9).mean(), (more <= row[end] + 1e-9).mean()]
            assert below[0] - 0.012 < share < below[1] + 0.012, (end, dict(row))


@each_table("tables/rl_inputs", raw="rl/*/*/*/inputs.csv")
def test_weights_kept_by_input(table):
    frame = rows(table.parents[1], "rl/*/*/*/inputs.csv").query("pruning == 'default'")
    frame = frame.assign(share=100 * frame["kept"] / frame["weights"])
    seeds = frame.groupby([*KEPT, "seed"])[["share", "kept"]].first().sort_index()
    for _, row in pd.read_csv(table).iterrows():
        own = seeds.loc[tuple(row[name] for name in KEPT)]
        expected = {"value": own["share"].mean(), "seeds": len(own), "least": own["kept"].min()}
        check(row, expected | {"cut": (own["kept"] == 0).sum()})


@each_table("tables/rl_table1", "tables/rl_figure4", raw="rl/*/*/measured-*/sizes.csv")
def test_bytes_of_stored_networks(table):
    frame = rows(table.parents[1], "rl/*/*/measured-*/sizes.csv")
    keys = ["task", "method", "sparsity_percent", "network", "format"]
    means = frame.groupby(keys)["bytes"].mean() / 1e6
    long = pd.read_csv(table).rename(columns={"column": "network"})
    for _, row in long[long["value"].notna()].iterrows():
        check(row, {"value": means[tuple(row[key] for key in keys)]})


def ratios(run, algorithm):
    """By task and method the ratio to dense, and its interval."""
    for task, title in TASKS.items():
        for method, name in METHODS.items():
            row = {"task": task, "method": method, "sparsity_percent": 95, "algorithm": algorithm}
            value, *bounds = ratio(run, row)
            yield f"{title} {name}", [value], bounds


def gains(run):
    """By task and method what BC gains by normalised observations, dense BC too; beyond dense."""
    for task, title in TASKS.items():
        for method, name in METHODS.items():
            cells = [
                of_cell(
                    run,
                    {"task": task, "algorithm": "BC", "method": which},
                    sparsity_percent=level,
                    observations=kind,
                )
                for which, level in ((method, 95), ("dense", 0))
                for kind in ("normalised", "raw")
            ]
            seeds = sorted(set.intersection(*map(set, cells)))
            one, raw, dense, raw_dense = (np.array([cell[s] for s in seeds]) for cell in cells)
            if seeds:
                means = [(one - raw).mean(), (dense - raw_dense).mean()]
                yield f"{title} {name}", means, ends(one - raw - dense + raw_dense)


def shuffles(run):
    """Criteria beside their shuffled masks, by the table of comparisons, itself recomputed."""
    file = run / "tables/rl_comparisons.csv"
    long = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COMPARED)
    for method, control in {"snip": "shuffled", "grasp": "shuffled_grasp"}.items():
        pair = long[(long["first"] == method) & (long["second"] == control)]
        pair = pair[(pair["algorithm"] == "BC") & (pair["sparsity_percent"] == 95)].set_index(
            "task"
        )
        if {*TASKS, "all tasks"} <= {*pair.index}:
            cells = pair.loc[["all tasks", *TASKS], SCORE].to_numpy().ravel()
            yield f"{LABELS[method]} against {LABELS[control]}", cells[:1], cells[1:]


def few(run):
    """What SNIP gains on 10,000 transitions or fewer, and dense's mean."""
    for algorithm in ("TD3+BC", "IQL"):
        cells = [
            paired(
                *(of_cell(run, {"task": task, "algorithm": algorithm, "trained_on": number,
                                "method": method, "sparsity_percent": level})
                  for method, level in (("snip", 95), ("dense", 0)))
            )
            for task in TASKS for number in (1000, 10_000)
        ]  # fmt: skip
        snip, dense = np.array(cells).mean(axis=0)
        if len(snip):
            yield algorithm, [(snip - dense).mean(), dense.mean()], ends(snip - dense)


CLAIMS = {
    "rl-bc-95": lambda run: ratios(run, "BC"),
    "rl-bcq-95": lambda run: ratios(run, "BCQ"),
    "rl-ours-sensors": gains,
    "rl-ours-shuffled": shuffles,
    "rl-ours-small-data": few,
}


@each_table("claims", raw="rl/**/scores.csv")
def test_numbers_that_claims_on_scores_print(table):
    claims, compared = pd.read_csv(table).set_index("id").fillna(""), 0
    for claim, recomputed in CLAIMS.items():
        measured, interval = claims.loc[claim, ["measured", "interval"]]
        named = [cell[1:] for cell in recomputed(table.parent) if cell[0] in measured]
        heading = measured.split(": ")[0] if not named else measured.split(": ", 1)[0] + ": "
        compared += same_numbers(
            measured.removeprefix(heading), [value for cell in named for value in cell[0]]
        )
        compared += same_numbers(interval, [value for cell in named for value in cell[1]])
    assert compared


def page_cells():
    """Task, label of the row, and text of the cells of scores and ratios on docs/results.md."""
    header, before = [], ""
    for line in (ROOT / "docs/results.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header, before = cells, ""
        elif any(f"{name}," in cells[0] for name in ("normalised", "raw", "BCQ")) or before:
            of_dense = "of the" in cells[0] + header[0]
            before = before if "of the" in cells[0] else cells[0]
            for title, cell in zip(header[1:], cells[1:], strict=True):
                if NUMBER.search(cell):
                    yield title.split(",")[0], before, of_dense, cell


def test_scores_and_ratios_on_the_page_of_results():
    """Each cell is that of some run, to the digits that it has."""
    runs = [run for run in RUNS if any(run.glob("rl/**/scores.csv"))]
    methods = {label: name for name, label in LABELS.items()}
    tasks = {title: task for task, title in TASKS.items()}
    compared = 0
    for title, name, of_dense, text in page_cells():
        kind, method, *level = name.split(", ")
        dense = method == "Dense"
        row = {"task": tasks[title], "method": methods[method]}
        row |= {"algorithm": "BCQ" if kind == "BCQ" else "BC"}
        row |= {"observations": "raw" if kind == "raw" else "normalised"}
        row |= {"sparsity_percent": 0 if dense else float((level or ["95%"])[0].rstrip("%"))}
        failures = []
        for run in runs:
            own = np.array([*of_cell(run, row).values()])
            if len(own):
                try:
                    same_numbers(text, ratio(run, row) if of_dense else [own.mean(), *ends(own)])
                    break
                except AssertionError as failure:
                    failures.append(failure)
        else:
            pytest.fail(f"{title}, {name}: {text} is of no run: {failures}")
        compared += 3
    assert compared > 100
