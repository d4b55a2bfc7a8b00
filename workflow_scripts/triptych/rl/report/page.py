"""The offline-RL study's part of the page, and its headline numbers."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.report.page import PageFigure, Part, Section, sections
from triptych.report.palette import label
from triptych.report.statistics import Interval
from triptych.report.summary import Bars, Summary, interval_bars
from triptych.report.tables import DASH, TIMES, Table, number, plain
from triptych.rl.methods import DENSE
from triptych.rl.report.claims import KEEPS, LEARNED
from triptych.rl.report.inference import latency_table
from triptych.rl.report.labels import (
    ALL_TASKS,
    METHOD_LABELS,
    NETWORK_LABELS,
    OBSERVATION_LABELS,
    TASK_LABELS,
)
from triptych.rl.report.memory import table1_table
from triptych.rl.report.scores import RATIO, summarise_scores
from triptych.rl.report.sensors import cut_table
from triptych.rl.report.tables import (
    comparisons_table,
    decimals,
    scores_table,
    variants_table,
)
from triptych.rl.tasks.task import NORMALISED, UNLIMITED

SOURCES = {
    "d4rl": "D4RL expert, downloaded",
    "minari": "a Minari data set",
    "collected": "collected here, not D4RL",
    "path": "a file of the user",
}

COLLECTED = (
    "**Data marked as collected are not D4RL's.** They were recorded in real MuJoCo physics from "
    "this project's own expert policies: networks with two hidden layers of 64 or 128 units, "
    "trained by PPO or TD3. They are easier to clone than the larger soft actor-critic policies "
    "behind D4RL, so scores under heavy pruning say less here than they would there."
)


def datasets_table(datasets: pd.DataFrame, units: Collection[str] = ()) -> Table:
    """Lay out the dataset.csv rows; tasks of `units` have no normalised score."""
    rows = []
    for data in datasets.to_dict("records"):
        kind, _, quality = str(data["source"]).partition(" ")
        rows.append(
            (
                label(TASK_LABELS, data["task"]),
                SOURCES.get(kind, kind).replace("expert", quality or "expert"),
                Path(data["file"]).name,
                *(f"{data[name]:,}" for name in ("transitions", "episodes")),
                _deviating(data, "return", decimals(data["return_mean"]) - 1),
                DASH if data["task"] in units else _deviating(data, "score_normalised", 1),
                *(f"{data[name]:,}" for name in ("terminals", "timeouts")),
            )
        )
    headers = ("Task", "Source", "File", "Transitions", "Episodes")
    caption = "Mean and standard deviation over episodes."
    for data in datasets.to_dict("records"):
        if data.get("limit_from") == UNLIMITED:
            caption += (
                f" Nothing shows a time limit of {label(TASK_LABELS, data['task'])}: evaluations "
                f"cut episodes after {data['limit_steps']:,.0f} steps."
            )
    return Table(
        name="rl_datasets",
        title="Data sets.",
        caption=caption,
        columns=plain(*headers, "Return", "Normalised score", "Falls", "Time limits"),
        rows=rows,
        keys=3,
    )


def _deviating(row: Mapping[Any, Any], name: str, digits: int) -> str:
    """A mean with its standard deviation."""
    return f"{number(row[f'{name}_mean'], digits)} ± {number(row[f'{name}_std'], digits)}"


PARTS = {
    "sensors": Part(
        title="What a mask lets a policy sense",
        text="SNIP's score |θ ∂L/∂θ| of a first layer's weight grows with the size of its input, "
        "so that of raw observations it keeps the inputs that are large and cuts those that are "
        "small: a hopper loses the angle by which it would feel itself fall. Normalised over the "
        "data set all inputs are alike. The paper doesn't say which of the two it used "
        "(docs/differences.md).",
        keys=("rl.observations", "rl.sweeps", "rl.shown_sparsity"),
        figures={"rl_sensors": "What pruning leaves a policy to sense."},
        tables={"inputs": cut_table},
        opened=("rl_sensors",),
    ),
    "scores": Part(
        title="Score against sparsity",
        text="A run's score is the mean of its last evaluations, never the best of them. Masks are "
        "found once, before training, and stay. Methods beyond SNIP and GraSP are controls that "
        "the paper lacks. The paper compares with DS-TD3 (Sokar et al. 2021), which it quotes as "
        "keeping its score up to 50% sparsity; that learns online and isn't run here.",
        keys=("rl.tasks", "rl.sweeps", "rl.training", "rl.evaluation"),
        figures={
            "rl_figure1": "Figure 1. Score against sparsity, SNIP.",
            "rl_figure1_curves": "Figure 1 as learning curves, a line a sparsity, SNIP.",
            "rl_figure2": "Figure 2. Score against sparsity, GraSP.",
            "rl_figure2_curves": "Figure 2 as learning curves, a line a sparsity, GraSP.",
            "rl_criteria": "Beyond the paper: score against sparsity, criteria and controls.",
            "rl_curves": "Learning curves.",
        },
        tables={"scores": scores_table},
        opened=("rl_figure1",),
    ),
    "small": Part(
        title="Where data are few",
        text="Later work of the paper's first author (Sparse-Reg, 2025) finds that sparsity "
        "regularises where data are few: each network is trained, and its mask found, on the "
        "first so many transitions alone.",
        keys=("rl.sweeps",),
        figures={"rl_small_data": "Beyond the paper: where data are few."},
    ),
    "comparisons": Part(
        title="Do the criteria matter?",
        text="Whether a criterion matters: each against controls that keep as many weights of each "
        "layer or network without looking at a loss.",
        keys=("rl.sweeps", "rl.pruning"),
        tables={"comparisons": comparisons_table},
    ),
    "layers": Part(
        title="Where the weights remain",
        text="Both methods rank weights across a whole mask group (actor, critic, encoder, "
        "decoder), so each layer's share is free to differ. These masks are computed at the "
        "paper's full widths, whatever the scale of the trained runs.",
        keys=("rl.mask_statistics", "rl.widths", "rl.pruning"),
        figures={
            "rl_figure3": "Figure 3. Weights kept by layer.",
            "rl_figure3_counts": "Figure 3 as counts.",
        },
    ),
    "memory": Part(
        title="Memory",
        text="Sizes are bytes of files really written, at the paper's full widths. The paper's "
        "fourfold saving is that of 64-bit sparse indices; a bit mask with the values behind it "
        "takes a fraction of that.",
        keys=("rl.mask_statistics", "rl.widths", "rl.shown_sparsity"),
        figures={"rl_figure4": "Figure 4. Memory against sparsity."},
        tables={"table1": table1_table},
        opened=("rl_table1",),
    ),
    "inference": Part(
        title="Inference",
        text="The paper promises faster inference with proper hardware and measures none. Here the "
        "same pruned policy acts through dense and sparse kernels on the report's own processor, "
        "with one thread, and is trained with the weights alone that it keeps beside its dense "
        "twin; the caption says how far their outputs differ at most. policy.c is what `triptych "
        "policy export` writes for where neither PyTorch nor this project is.",
        keys=("rl.latency", "rl.widths"),
        tables={"inference": latency_table},
    ),
    "data": Part(
        title="Data sets",
        text="Returns are those of the policy behind the data; scores are D4RL-normalised.",
        keys=("rl.tasks", "rl.collect"),
        tables={"datasets": datasets_table},
    ),
}


def rl_sections(
    frames: Mapping[str, pd.DataFrame],
    settings: Mapping[str, Any],
    figures: Mapping[str, PageFigure],
) -> list[Section]:
    """The study's sections, without those of which the run shows nothing.

    frames, settings: by the names of `Workflow.page`. figures: by name, as PARTS has them.
    """
    units = _own_units(frames["scores"]) if "scores" in frames else {}
    collected = "datasets" in frames and (frames["datasets"]["source"] == "collected").any()
    notes = [COLLECTED] if collected else []
    notes += [
        f"{label(TASK_LABELS, task)} has no reference scores: what stands for its score is the "
        f"{unit}, and it is in no mean over tasks and in no claim."
        for task, unit in units.items()
    ]
    by_setting = {
        "comparisons": {"variants": partial(variants_table, variants=settings["variants"])},
        "data": {"datasets": partial(datasets_table, units=units)},
    }
    parts = PARTS | {
        anchor: replace(PARTS[anchor], tables=PARTS[anchor].tables | tables)
        for anchor, tables in by_setting.items()
    }
    return sections(parts, figures, frames, notes={"data": notes})


def _own_units(scores: pd.DataFrame) -> dict[str, str]:
    """Units of the tasks whose scores aren't normalised."""
    units = scores.set_index("task")["unit"]
    return {str(task): unit for task, unit in units.items() if unit != NORMALISED}


RECORDED = {"collected": "recordings of our own experts, not D4RL's", "d4rl": "D4RL's data"}
"""What policies learned from, by the source of a task's data; any other is the user's."""
SPELLED = {"BC": "behaviour cloning (BC)", "BCQ": "batch-constrained Q-learning (BCQ)"}
LONGER = 10_000
"""Updates of the published runs of BC on our experts' data, in which pruned networks keep more
(docs/results.md)."""


def glance(
    table1: pd.DataFrame,
    scores: pd.DataFrame,
    datasets: pd.DataFrame,
    sensors: pd.DataFrame | None,
    *,
    observations: str,
    updates: int,
) -> Summary:
    """The first screen: the share of the dense score that pruned policies keep where the dense ones
    learned, on both kinds of observations if both ran, and how much smaller they are.

    table1, scores, sensors: the long tables. datasets: of the data's policies. observations: how
    `scores` sees them. updates: of the training.
    """
    of_tasks = scores[(scores["unit"] == NORMALISED) & (scores["task"] != ALL_TASKS)]
    algorithm = min(scores["algorithm"])  # BC where it ran
    methods = [name for name in dict.fromkeys(["snip", *of_tasks["method"]]) if name != DENSE]
    name, sparsity = label(METHOD_LABELS, methods[0]), f"{scores['sparsity_percent'].max():g}%"
    cells = [of_tasks.assign(seen=observations)]
    if sensors is not None:
        cells.append(_seen_otherwise(sensors, algorithm, observations))
    rows = _judged(pd.concat(cells), datasets)
    shown = rows[(rows["algorithm"] == algorithm) & rows["method"].isin([DENSE, methods[0]])]
    pruned = rows[rows["learned"] & (rows["algorithm"] == algorithm) & (rows["method"] != DENSE)]
    kept = pruned[pruned["method"] == methods[0]]
    spelled = SPELLED.get(algorithm, algorithm)
    sentence = f"The policies of {spelled} learned too little to say what pruning by {name} keeps."
    if len(kept):
        sentence = f"With {sparsity} of its weights pruned by {name} before training, {spelled} "
        sentence += f"keeps of its unpruned score {'; '.join(map(_shares, _by_kind(kept)))}."
    sums = table1.groupby(["method", "format"])["value"].sum(min_count=len(NETWORK_LABELS))
    smaller = sums.get((DENSE, "dense"), float("nan")) / sums.get(("snip", "coo"), float("nan"))
    data = dict.fromkeys(RECORDED.get(str(kind), "the user's data") for kind in datasets["source"])
    limits = [f"Learned in {updates:,} updates from {' and '.join(data)}."]
    ours = algorithm == "BC" and set(datasets["source"]) == {"collected"}
    if ours and updates < LONGER and (kept["ratio_high"] < KEEPS).any():
        limits.append(f"At the paper's widths {LONGER:,} updates keep more (docs/results.md).")
    others = pruned[(pruned["method"] != methods[0]) & (pruned["seen"] == observations)]
    if len(others):
        limits.append(f"Other masks keep on average {_average_shares(others)}.")
    return Summary(
        sentence=sentence,
        numbers=[
            *_headlines(shown, observations),
            (f"{number(smaller, 2)}{TIMES}", "smaller when stored (paper: 4)"),
        ],
        limits=" ".join([*limits, _too_little(rows)]).strip(),
        bars=Bars(
            f"{algorithm}'s score with all weights (dense) and with {sparsity} of them pruned; "
            "95% intervals over seeds, 100 is D4RL's expert.",
            interval_bars(
                shown[["value", "low", "high"]].assign(
                    label=shown["method"].map(METHOD_LABELS)
                    + shown["seen"].map(lambda seen: "" if seen == observations else f", {seen}"),
                    group=[label(TASK_LABELS, task) for task in shown["task"]],
                    strong=shown["method"] != DENSE,
                ),
                0,
            ),
        ),
    )


def _headlines(shown: pd.DataFrame, observations: str) -> list[tuple[str, str]]:
    """The share that pruned policies keep, mean of the tasks that were learned, and their score on
    the other kind of observations beside the dense ones', mean of all tasks."""
    numbers = []
    pruned = shown[shown["method"] != DENSE]
    kept = pruned.loc[pruned["learned"] & (pruned["seen"] == observations), "ratio_to_dense"]
    if len(kept):
        over = f"mean of {len(kept)} task{'s' if len(kept) > 1 else ''}"
        numbers.append((f"{number(100 * kept.mean(), 0)}%", f"of the unpruned score, {over}"))
    for seen, rows in shown[shown["seen"] != observations].groupby("seen"):
        dense = rows["method"] == DENSE
        whole, part = rows["value"][dense].mean(), rows["value"][~dense].mean()
        text = f"pruned on {OBSERVATION_LABELS[str(seen)]} (unpruned: {number(whole, 0)})"
        numbers.append((number(part, 0), text))
    return numbers


def _average_shares(rows: pd.DataFrame) -> str:
    """The mean share of the dense score that each method keeps."""
    means = rows.groupby("method", sort=False)["ratio_to_dense"].mean()
    return ", ".join(
        f"{number(100 * mean, 0)}% ({label(METHOD_LABELS, str(name))})"
        for name, mean in means.items()
    )


def _seen_otherwise(sensors: pd.DataFrame, algorithm: str, observations: str) -> pd.DataFrame:
    """Scores of an algorithm on the observations that aren't these, as `summarise_scores` has
    them."""
    runs = sensors[(sensors["observations"] != observations) & (sensors["unit"] == NORMALISED)]
    runs = runs.rename(columns={"value": "score"}).assign(algorithm=algorithm)
    return summarise_scores(runs).assign(seen=runs["observations"].min())


def _judged(rows: pd.DataFrame, datasets: pd.DataFrame) -> pd.DataFrame:
    """Scores by task and way of seeing, with the data's policy's, and whether the dense networks
    reach LEARNED of that."""
    tasks = [*datasets["task"]]
    data = rows["task"].map(datasets.set_index("task")["score_normalised_mean"])
    rows = rows.assign(behaviour=data, place=rows["task"].map(tasks.index))
    dense = rows[rows["method"] == DENSE].set_index(["algorithm", "seen", "task"])
    enough = dense["value"] >= LEARNED * dense["behaviour"]
    keys = pd.MultiIndex.from_frame(rows[enough.index.names])
    rows = rows.assign(learned=enough.reindex(keys, fill_value=False).to_numpy())
    return rows.sort_values("place", kind="stable")


def _by_kind(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each algorithm and way of seeing."""
    return [part for _, part in rows.groupby(["algorithm", "seen"], sort=False)]


def _seen(rows: pd.DataFrame) -> str:
    return OBSERVATION_LABELS[rows["seen"].iloc[0]]


def _shares(rows: pd.DataFrame) -> str:
    """What is kept of the dense score, with its interval, on each task of one way of seeing."""
    shares = [
        f"{number(row['ratio_to_dense'], 2)} "
        f"{Interval(*(row[name] for name in RATIO)).ends()} on {label(TASK_LABELS, row['task'])}"
        for row in rows.to_dict("records")
    ]
    return f"{', '.join(shares)} ({_seen(rows)})"


def _too_little(rows: pd.DataFrame) -> str:
    """The dense policies that don't reach the data's; "" if there is none."""
    dense = rows[~rows["learned"] & (rows["method"] == DENSE)]
    parts = []
    for kind in _by_kind(dense):
        tasks = [
            f"{label(TASK_LABELS, row['task'])} ({number(row['value'], 0)} of "
            f"{number(row['behaviour'], 0)})"
            for row in kind.to_dict("records")
        ]
        parts.append(f"{kind['algorithm'].iloc[0]} on {_seen(kind)} on {', '.join(tasks)}")
    if not parts:
        return ""
    return (
        f"Not judged, since the unpruned policy has less than {LEARNED:.0%} of its data's score: "
        f"{'; '.join(parts)}."
    )
