"""Offline RL at a glance."""

from collections.abc import Iterator

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import label
from triptych.report.statistics import Interval
from triptych.report.summary import Bars, Summary, interval_bars, write_summary
from triptych.report.tables import TIMES, number
from triptych.rl.methods import DENSE
from triptych.rl.report.claims import KEEPS, LEARNED
from triptych.rl.report.labels import (
    ALL_TASKS,
    METHOD_LABELS,
    NETWORK_LABELS,
    OBSERVATION_LABELS,
    TASK_LABELS,
)
from triptych.rl.report.scores import RATIO, by_level, shown_level, summarise_scores
from triptych.rl.tasks.task import OWN, SCALED

RECORDED = {"collected": "recordings of our own experts, not D4RL's", "d4rl": "D4RL's data"}
"""What policies learned from, by the source of a task's data; any other is the user's."""
SPELLED = {"BC": "behaviour cloning (BC)", "BCQ": "batch-constrained Q-learning (BCQ)"}
METHOD = "snip"
LONGER = 10_000
"""Updates of the published runs of BC on our experts' data, in which pruned networks keep more
(docs/results.md)."""


def numbers(
    scores: pd.DataFrame, sensors: pd.DataFrame | None, datasets: pd.DataFrame, observations: str
) -> pd.DataFrame:
    """Normalised scores by task, method and way of seeing, as `summarise_scores` has them.

    scores, sensors: the long tables. datasets: of the data's policies. observations: how `scores`
    sees them. Adds seen (raw or normalised), behaviour (score of the data's policy), learned
    (whether the dense networks reach LEARNED of that).
    """
    rows = scores[scores["unit"].isin(SCALED) & (scores["task"] != ALL_TASKS)]
    rows = rows.assign(seen=observations)
    if sensors is not None:
        others = sensors[sensors["unit"].isin(SCALED) & (sensors["observations"] != observations)]
        runs = others.rename(columns={"value": "score"}).assign(algorithm=min(scores["algorithm"]))
        rows = pd.concat([rows, summarise_scores(runs).assign(seen=others["observations"].min())])
    key = ["task", "algorithm", "seen"]
    dense = rows.loc[rows["method"] == DENSE, [*key, "value"]].rename(columns={"value": "dense"})
    data = datasets[["task", "score_normalised_mean"]].set_axis(["task", "behaviour"], axis=1)
    rows = data.merge(rows, on="task").merge(dense, "left", key)
    return rows.assign(learned=rows["dense"] >= LEARNED * rows["behaviour"])


def summary(
    table1: pd.DataFrame,
    scores: pd.DataFrame,
    datasets: pd.DataFrame,
    sensors: pd.DataFrame | None,
    *,
    observations: str,
    updates: int,
) -> Summary:
    """The share of the dense score that pruned policies keep where the dense ones learned, on both
    kinds of observations if both ran, and how much smaller they are.

    table1, scores, sensors: the long tables. datasets: of the data's policies. observations: how
    `scores` sees them. updates: of the training.
    """
    algorithm, sparsity = min(scores["algorithm"]), f"{scores['sparsity_percent'].max():g}%"
    rows = numbers(scores, sensors, datasets, observations)
    cells = rows[rows["algorithm"] == algorithm]  # BC where it ran
    shown = cells[cells["method"].isin([DENSE, METHOD])]
    pruned = cells[cells["learned"] & (cells["method"] != DENSE)]
    kept = pruned[pruned["method"] == METHOD]
    name, spelled = METHOD_LABELS[METHOD], SPELLED.get(algorithm, algorithm)
    sentence = f"The policies of {spelled} learned too little to say what pruning by {name} keeps."
    if len(kept):
        sentence = f"With {sparsity} of its weights pruned by {name} before training, {spelled} "
        sentence += f"keeps of its unpruned score {'; '.join(_shares(kept))}."
    sums = table1.groupby(["method", "format"])["value"].sum(min_count=len(NETWORK_LABELS))
    smaller = sums.get((DENSE, "dense"), float("nan")) / sums.get((METHOD, "coo"), float("nan"))
    data = dict.fromkeys(RECORDED.get(str(kind), "the user's data") for kind in datasets["source"])
    limits = [f"Learned in {updates:,} updates from {' and '.join(data)}."]
    ours = algorithm == "BC" and set(datasets["source"]) == {"collected"}
    if ours and updates < LONGER and (kept["ratio_high"] < KEEPS).any():
        limits.append(f"At the paper's widths {LONGER:,} updates keep more (docs/results.md).")
    others = pruned[(pruned["method"] != METHOD) & (pruned["seen"] == observations)]
    means = others.groupby("method", sort=False)["ratio_to_dense"].mean()
    averages = [f"{100 * mean:.0f}% ({label(METHOD_LABELS, str(m))})" for m, mean in means.items()]
    if averages:
        limits.append(f"Other masks keep on average {', '.join(averages)}.")
    seen = shown["seen"].map(lambda seen: "" if seen == observations else f", {seen}")
    bars = shown[["value", "low", "high"]].assign(
        label=shown["method"].map(METHOD_LABELS) + seen,
        group=[label(TASK_LABELS, task) for task in shown["task"]],
        strong=shown["method"] != DENSE,
    )
    return Summary(
        sentence=sentence,
        numbers=[
            *_headlines(shown, observations),
            (f"{number(smaller, 2)}{TIMES}", "smaller when stored (paper: 4)"),
        ],
        limits=" ".join([*limits, *_not_judged(rows)]),
        bars=Bars(
            f"{algorithm}'s score with all weights (dense) and with {sparsity} of them pruned; "
            f"95% intervals over seeds, 100 is {_expert(shown)}.",
            interval_bars(bars, 0),
        ),
    )


def _expert(shown: pd.DataFrame) -> str:
    """What scores 100 on these tasks."""
    return "the upper reference" if (shown["unit"] == OWN).any() else "D4RL's expert"


def _shares(kept: pd.DataFrame) -> Iterator[str]:
    """What is kept of the dense score, with its interval, on each task of one way of seeing."""
    for seen, rows in kept.groupby("seen", sort=False):
        ratios = [Interval(*ratio).text() for ratio in rows[[*RATIO]].to_numpy()]
        tasks = [label(TASK_LABELS, task) for task in rows["task"]]
        shares = [f"{ratio} on {task}" for ratio, task in zip(ratios, tasks, strict=True)]
        yield f"{', '.join(shares)} ({OBSERVATION_LABELS[str(seen)]})"


def _headlines(shown: pd.DataFrame, observations: str) -> Iterator[tuple[str, str]]:
    """The share that pruned policies keep, mean of the tasks that were learned, and their score on
    the other kind of observations beside the dense ones', mean of all tasks."""
    pruned = shown[shown["method"] != DENSE]
    kept = pruned.loc[pruned["learned"] & (pruned["seen"] == observations), "ratio_to_dense"]
    if len(kept):
        over = f"mean of {len(kept)} task{'s' if len(kept) > 1 else ''}"
        yield f"{100 * kept.mean():.0f}%", f"of the unpruned score, {over}"
    for seen, rows in shown[shown["seen"] != observations].groupby("seen"):
        dense = rows["method"] == DENSE
        whole, part = rows["value"][dense].mean(), rows["value"][~dense].mean()
        text = f"pruned on {OBSERVATION_LABELS[str(seen)]} (unpruned: {number(whole, 0)})"
        yield number(part, 0), text


def _not_judged(rows: pd.DataFrame) -> Iterator[str]:
    """The dense policies that don't reach the data's."""
    short = rows[~rows["learned"] & (rows["method"] == DENSE)]
    parts = []
    for (algorithm, seen), cells in short.groupby(["algorithm", "seen"], sort=False):
        tasks = [
            f"{label(TASK_LABELS, row['task'])} ({row['value']:.0f} of {row['behaviour']:.0f})"
            for row in cells.to_dict("records")
        ]
        parts.append(f"{algorithm} on {OBSERVATION_LABELS[str(seen)]} on {', '.join(tasks)}")
    if parts:
        least = f"less than {LEARNED:.0%} of its data's score"
        yield f"Not judged, since the unpruned policy has {least}: {'; '.join(parts)}."


if __name__ == "__main__":
    with job(snakemake):
        files, params = snakemake.input, snakemake.params
        table1, scores, datasets = map(read_frames, (files.table1, files.scores, files.datasets))
        shown = summary(
            table1,
            by_level(scores, shown_level(scores, params.sparsity))[0],
            datasets,
            read_frames(files.sensors) if files.sensors else None,
            observations=params.observations,
            updates=params.updates,
        )
        write_summary(shown, snakemake.output[0])
