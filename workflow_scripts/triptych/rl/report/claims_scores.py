"""Comparisons of scores that claims judge."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from triptych.report.claims import Finding
from triptych.report.statistics import Interval, mean_interval
from triptych.rl.methods import DENSE
from triptych.rl.report.claims_facts import (
    FEW,
    METHODS,
    OF_SCORES,
    PAIRS,
    SHUFFLED,
    SMALL_ALGORITHMS,
    SPARSITIES,
    SPARSITY,
    TASKS,
    Run,
)
from triptych.rl.report.labels import ALL_TASKS, METHOD_LABELS, TASK_LABELS
from triptych.rl.report.scores import CELL, INTERVAL, RATIO, gap, paired, summarise_scores
from triptych.rl.report.tables import beside_default, comparisons_long, described

KEEPS = 0.9
LEARNED = 0.9
STEADY = 15
LEARNING_TASKS = 2
SOME_TASKS = 2
EXCEPTED = ("BCQ", "hopper")
"""Algorithm and task that lose their score in the paper, too."""


def require(found: Finding, name: str, side: int, claimed: str) -> None:
    """Note where a comparison does not lie on the claimed side. claimed: what is compared does."""
    found.require(side, f"{name} does not {claimed}", f"{name} does not clearly {claimed}")


def keeps_score(run: Run, algorithm: str, losing: str = "") -> Finding:
    """Ratios to the dense score at SPARSITY (Figures 1 and 2). losing: the task whose ratio must be
    clearly below 1; on all others it must clearly be at least KEEPS."""
    found = Finding(heading="Ratio to dense: ")
    for key, ratio in _ratios(run, algorithm, TASKS, (SPARSITY,), found).items():
        name = pair_name(*key)
        if np.isnan(ratio.estimate):
            found.obstacles.append(f"{name} was not run")
            continue
        found.add(f"{name} {ratio.estimate:.2f}", f"{name} {ratio.ends()}")
        if key[0] == losing:
            require(found, name, loses(ratio), "lose its score")
        else:
            require(found, name, keeps(ratio), "keep its score")
    return found


def keeps_score_at_every_sparsity(run: Run) -> Finding:
    """Ratios to the dense score at each of SPARSITIES (Section 4), without EXCEPTED."""
    found = Finding(heading="Least ratio to dense: ")
    for algorithm in OF_SCORES:
        tasks = [task for task in TASKS if (algorithm, task) != EXCEPTED]
        ratios = {
            f"{algorithm} on {pair_name(*key)} at {key[-1]}%": ratio
            for key, ratio in _ratios(run, algorithm, tasks, SPARSITIES, found).items()
            if not np.isnan(ratio.estimate)
        }
        for name, ratio in ratios.items():
            require(found, name, keeps(ratio), "keep its score")
        for name in sorted(ratios, key=lambda name: ratios[name].estimate)[:1]:
            found.add(f"{name} {ratios[name].estimate:.2f}", f"{name} {ratios[name].ends()}")
    return found


def _ratios(
    run: Run, algorithm: str, tasks: Sequence[str], levels: Sequence[int], found: Finding
) -> dict[tuple[str, str, int], Interval]:
    """Ratios to the dense score by task, method and sparsity, nan where one was not run.

    Tasks on which the dense policies learned nothing are left out, which `found` notes.
    """
    scores = summarise_scores(run.scores[run.scores["algorithm"] == algorithm]).set_index(CELL[:3])
    unlearned = _not_learned(run, algorithm, tasks, scores)
    few = len(tasks) - len(unlearned) < LEARNING_TASKS
    (found.obstacles if few else found.partly).extend(unlearned.values())
    keys = [*product([task for task in tasks if task not in unlearned], METHODS, levels)]
    ratios = scores.reindex(keys)[[*RATIO]].to_numpy().tolist()
    return {key: Interval(*ratio) for key, ratio in zip(keys, ratios, strict=True)}


def _not_learned(
    run: Run, algorithm: str, tasks: Sequence[str], scores: pd.DataFrame
) -> dict[str, str]:
    """Tasks whose dense policies learned nothing that could be lost, each with the reason."""
    reasons = {}
    for task in tasks:
        name = f"the dense {algorithm} on {TASK_LABELS[task]}"
        dense, expert = scores.reindex([(task, DENSE, 0)]).iloc[0], run.behaviour.get(task, np.inf)
        spread = dense["maximum"] - dense["minimum"]
        if pd.isna(dense["value"]):
            reasons[task] = f"{name} was not run"
        elif not dense["value"] >= LEARNED * expert:
            part = f"({dense['value']:.0f} of {expert:.0f})"
            reasons[task] = f"{name} does not reach {LEARNED:.0%} of the data's policy {part}"
        elif spread >= STEADY:
            reasons[task] = f"{name} differs by {spread:.0f} points from seed to seed"
    return reasons


def keeps(ratio: Interval) -> int:
    """1 where the interval shows that at least KEEPS of the dense score is kept, -1 where less."""
    return int(ratio.low >= KEEPS) - int(ratio.high < KEEPS)


def loses(ratio: Interval) -> int:
    """1 where the ratio is below KEEPS and its interval excludes an equal score, -1 where the score
    is kept."""
    return int(ratio.estimate < KEEPS and ratio.high < 1) - int(ratio.low >= KEEPS)


def other_prunings_do_not_help(run: Run) -> Finding:
    """Scores by other batches and iterations less those of the default pruning (Section 4)."""
    found = Finding(heading="Points more than by the default pruning, mean over tasks: ")
    pairs = beside_default(run.varied[run.varied["sparsity_percent"] == SPARSITY])
    gaps = pairs.assign(gap=pairs["score"] - pairs["other"]).pivot(
        index=["algorithm", "pruning", "method", "seed"], columns="task", values="gap"
    )
    by_seed = gaps.reindex(columns=[*TASKS]).dropna().mean(axis=1)
    names: Any
    for names, differences in by_seed.groupby(["algorithm", "pruning", "method"]):
        algorithm, pruning, method = names
        changed = described(method, run.variants[pruning])
        if algorithm in OF_SCORES and method in METHODS and changed:
            more = mean_interval(differences)
            name = f"{algorithm} {METHOD_LABELS[method]} by {changed}"
            found.add(f"{name} {more.estimate:+.1f}", f"{name} {more.ends(1, '+')}")
            if more.side() > 0:
                found.failures.append(f"{name} scores more")
    return found


def normalising_makes_it_work(run: Run) -> Finding:
    """Gain of pruned BC by normalised observations, less the gain of dense BC."""
    found = Finding(heading="Points that BC gains by normalised observations: ")
    runs = run.seen[run.seen["sparsity_percent"].isin([0, SPARSITY])]
    runs = runs[runs["algorithm"] == "BC"]
    normalised, raw = (runs[runs["observations"] == kind] for kind in ("normalised", "raw"))
    gains = paired(normalised, raw, ["task", "method", "seed"], how="inner")
    gains = gains.assign(gain=gains["score"] - gains["other"])
    gains = gains.pivot(index=["task", "seed"], columns="method", values="gain")
    gains = gains.reindex(columns=[DENSE, *METHODS]).reset_index("task")
    for task, method in PAIRS:
        name, of_task = pair_name(task, method), gains[gains["task"] == task]
        both = of_task[[method, DENSE]].dropna()
        if both.empty:
            found.obstacles.append(f"{name} has no scores on raw and on normalised observations")
            continue
        more, (pruned, dense) = mean_interval(both[method] - both[DENSE]), both.mean()
        found.add(
            f"{name} {pruned:+.0f} (dense {dense:+.0f})", f"{name} beyond dense {more.ends(0, '+')}"
        )
        require(found, name, more.side(), "gain more than the dense network")
    return found


def criteria_beat_their_shuffles(run: Run) -> Finding:
    """Probability that SNIP and GraSP score more than their masks shuffled within layers."""
    found = Finding()
    of_bc = (run.scores["algorithm"] == "BC") & (run.scores["sparsity_percent"] == SPARSITY)
    long = comparisons_long(run.scores[of_bc]).set_index(["first", "second", "task"])[[*INTERVAL]]
    for method, control in SHUFFLED.items():
        name = f"{METHOD_LABELS[method]} against {METHOD_LABELS[control]}"
        rows = long.reindex([(method, control, task) for task in (*TASKS, ALL_TASKS)])
        if rows["value"].isna().any():
            found.obstacles.append(f"{name} has no scores on some task")
            continue
        *gaps, more = (Interval(*row) for row in rows.to_numpy().tolist())
        sides = [one.side() for one in gaps]
        probability = f"{name}: scores more with probability {more.estimate:.2f}"
        found.add(probability, f"{name} {more.ends()}")
        for task, one in zip(TASKS, gaps, strict=True):
            found.add("", f"{TASK_LABELS[task]} {one.estimate:+.1f} {one.ends(1, '+')}")
        worse = more.high < 0.5 or sides.count(-1) >= SOME_TASKS
        better = more.low > 0.5 and sides.count(1) >= SOME_TASKS
        found.require(better - worse, f"{name}: worse", f"{name}: not clearly better")
    return found


def sparsity_helps(run: Run) -> Finding:
    """Score by SNIP less dense on few transitions, mean over tasks and numbers of transitions."""
    found = Finding(heading=f"SNIP at {SPARSITY}% less dense, {FEW:,} transitions or fewer: ")
    few = run.small[run.small["trained_on"] <= FEW]
    snip, dense = (few[few["method"] == name] for name in ("snip", DENSE))
    snip = snip[snip["sparsity_percent"] == SPARSITY]
    pairs = paired(snip, dense, ["algorithm", "task", "trained_on", "seed"], how="inner")
    for algorithm in SMALL_ALGORITHMS:
        of_algorithm = pairs[pairs["algorithm"] == algorithm]
        if of_algorithm.empty:
            return Finding(obstacles=[f"{algorithm} was not run on few transitions"])
        by_seed = of_algorithm.groupby("seed")[["score", "other"]].mean()
        more, mean = gap(by_seed), by_seed["other"].mean()
        found.add(
            f"{algorithm} {more.estimate:+.1f} (dense {mean:.1f})",
            f"{algorithm} {more.ends(1, '+')}",
        )
        require(found, f"{algorithm} by SNIP", more.side(), "score more than dense")
    return found


def pair_name(task: str, method: str, *_: int) -> str:
    """Task and method as a reader knows them."""
    return f"{TASK_LABELS[task]} {METHOD_LABELS[method]}"
