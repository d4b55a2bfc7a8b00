"""Comparisons of scores that claims judge."""

from itertools import product

import numpy as np
import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.statistics import Interval, difference_interval, mean_interval
from triptych.rl.report.claims_facts import (
    METHODS,
    OF_SCORES,
    SHUFFLED,
    SPARSITIES,
    SPARSITY,
    TASKS,
    Run,
)
from triptych.rl.report.labels import METHOD_LABELS, TASK_LABELS
from triptych.rl.report.scores import ratio_to_dense, seed_scores, with_observations
from triptych.rl.report.tables import described, improvement

KEEPS = 0.9
LEARNED = 0.9
STEADY = 15
LEARNING_TASKS = 2
SOME_TASKS = 2
EXCEPTED = ("BCQ", "hopper")
"""Algorithm and task that lose their score in the paper, too."""


def keeps_score(run: Run, algorithm: str, losing: str = "") -> Finding:
    """Ratios to the dense score at SPARSITY (Figures 1 and 2). losing: the task whose ratio must be
    clearly below 1; on all others it must clearly be at least KEEPS."""
    unlearned = not_learned(run, algorithm)
    ratios = {
        (task, method): ratio_to_dense(run.scores, task, method, SPARSITY, algorithm)
        for task in TASKS
        if task not in unlearned
        for method in METHODS
    }
    known = {key: ratio for key, ratio in ratios.items() if not np.isnan(ratio.estimate)}
    failures: list[str] = []
    unclear: list[str] = []
    for key, ratio in sorted(ratios.items(), key=lambda item: item[0][0] == losing):
        if not (loses(ratio) if key[0] == losing else keeps(ratio)):
            verb, never = (
                ("lose", keeps(ratio)) if key[0] == losing else ("keep", ratio.high < KEEPS)
            )
            text = f"{pair_name(key)} {'does' if never else 'may'} not {verb} its score"
            (failures if never else unclear).append(text)
    few = len(TASKS) - len(unlearned) < LEARNING_TASKS
    reasons = tuple(unlearned.values())
    return Finding(
        "Ratio to dense: "
        + ", ".join(f"{pair_name(key)} {ratio.estimate:.2f}" for key, ratio in known.items()),
        ", ".join(f"{pair_name(key)} {ratio.ends()}" for key, ratio in known.items()),
        failures,
        unclear,
        obstacles=[f"{pair_name(key)} was not run" for key in ratios if key not in known]
        + list(reasons if few else ()),
        partly=() if few else reasons,
    )


def keeps_score_at_every_sparsity(run: Run) -> Finding:
    """Ratios to the dense score at each of SPARSITIES (Section 4), without EXCEPTED."""
    failures: list[str] = []
    unclear: list[str] = []
    obstacles: list[str] = []
    partly: list[str] = []
    measured, intervals = [], []
    for algorithm in OF_SCORES:
        tasks = [task for task in TASKS if (algorithm, task) != EXCEPTED]
        reasons = {t: why for t, why in not_learned(run, algorithm).items() if t in tasks}
        few = len(tasks) - len(reasons) < LEARNING_TASKS
        (obstacles if few else partly).extend(reasons.values())
        pairs = [(t, m) for t, m in product(tasks, METHODS) if t not in reasons]
        ratios = {
            (pair, level): ratio_to_dense(run.scores, *pair, level, algorithm)
            for pair, level in product(pairs, SPARSITIES)
        }
        known = {key: ratio for key, ratio in ratios.items() if not np.isnan(ratio.estimate)}
        for key, ratio in known.items():
            text = f"keep the score of {algorithm} on {pair_name(key[0])} at {key[1]}%"
            if ratio.high < KEEPS:
                failures.append(f"does not {text}")
            elif not keeps(ratio):
                unclear.append(f"may not {text}")
        if known:
            pair, level = min(known, key=lambda key: known[key].estimate)
            least = f"{algorithm} on {pair_name(pair)} at {level}%"
            measured.append(f"{least} {known[pair, level].estimate:.2f}")
            intervals.append(f"{least} {known[pair, level].ends()}")
    return Finding(
        f"Least ratio to dense: {', '.join(measured)}",
        ", ".join(intervals),
        failures,
        unclear,
        obstacles,
        partly,
    )


def other_prunings_do_not_help(run: Run) -> Finding:
    """Scores by other batches and iterations less those of the default pruning (Section 4)."""
    failures, measured, intervals = [], [], []
    for algorithm, (name, settings), method in product(OF_SCORES, run.variants.items(), METHODS):
        varied = run.varied[run.varied["pruning"] == name]
        gaps = pd.DataFrame(
            {
                task: seed_scores(varied, task, method, SPARSITY, algorithm)
                - seed_scores(run.scores, task, method, SPARSITY, algorithm)
                for task in TASKS
            }
        ).dropna()
        if gaps.empty or not (changed := described(method, settings)):
            continue
        gap = mean_interval(gaps.mean(axis=1).to_numpy())
        text = f"{algorithm} {label(METHOD_LABELS, method)} by {changed}"
        measured.append(f"{text} {gap.estimate:+.1f}")
        intervals.append(f"{text} {gap.ends(1, '+')}")
        if gap.side() > 0:
            failures.append(f"{text} scores more")
    return Finding(
        f"Points more than by the default pruning, mean over tasks: {', '.join(measured)}",
        ", ".join(intervals),
        failures,
    )


def keeps(ratio: Interval) -> bool:
    """Whether the interval shows that at least KEEPS of the dense score is kept."""
    return bool(ratio.low >= KEEPS)


def loses(ratio: Interval) -> bool:
    """Whether the ratio is below KEEPS and the interval excludes an equal score."""
    return bool(ratio.estimate < KEEPS and ratio.high < 1)


def not_learned(run: Run, algorithm: str) -> dict[str, str]:
    """Tasks whose dense policies learned nothing that could be lost, each with the reason."""
    reasons = {}
    for task in TASKS:
        dense = seed_scores(run.scores, task, "dense", 0, algorithm)
        name = f"the dense {algorithm} on {label(TASK_LABELS, task)}"
        expert = run.behaviour.get(task, np.inf)
        if dense.empty:
            reasons[task] = f"{name} was not run"
        elif not dense.mean() >= LEARNED * expert:
            part = f"({dense.mean():.0f} of {expert:.0f})"
            reasons[task] = f"{name} does not reach {LEARNED:.0%} of the data's policy {part}"
        elif (spread := dense.max() - dense.min()) >= STEADY:
            reasons[task] = f"{name} differs by {spread:.0f} points from seed to seed"
    return reasons


def normalising_makes_it_work(run: Run) -> Finding:
    """Gain of pruned BC by normalised observations, less the gain of dense BC."""
    failures: list[str] = []
    unclear: list[str] = []
    measured, intervals, unscored = [], [], []
    for task in TASKS:
        for method in METHODS:
            name = pair_name((task, method))
            gained = _gained(run.seen, task, method, SPARSITY)
            more = (gained - _gained(run.seen, task, "dense", 0)).dropna()
            if more.empty:
                unscored.append(f"{name} has no scores on raw and on normalised observations")
                continue
            gap = difference_interval(more.to_numpy(), 0 * more.to_numpy())
            measured.append(f"{name} {gained.mean():+.0f} (dense {(gained - more).mean():+.0f})")
            intervals.append(f"{name} {gap.ends(0, '+')}")
            if (side := gap.side()) < 1:
                clearly = "" if side else "clearly "
                text = f"{name} does not {clearly}gain more than the dense network"
                (failures if side else unclear).append(text)
    gains = "Points that BC gains by normalised observations: " + ", ".join(measured)
    shown = f"Gained beyond dense: {', '.join(intervals)}" if intervals else ""
    return Finding(gains, shown, failures, unclear, unscored)


def _gained(runs: pd.DataFrame, task: str, method: str, sparsity: float) -> pd.Series:
    """Score with normalised less that with raw observations, by seed."""
    normalised, raw = (
        seed_scores(with_observations(runs, kind), task, method, sparsity, "BC")
        for kind in ("normalised", "raw")
    )
    return normalised - raw


def criteria_beat_their_shuffles(run: Run) -> Finding:
    """Probability that SNIP and GraSP score more than their masks shuffled within layers."""
    failures: list[str] = []
    unclear: list[str] = []
    measured, intervals, unscored = [], [], []
    for method, control in SHUFFLED.items():
        name = f"{label(METHOD_LABELS, method)} against {label(METHOD_LABELS, control)}"
        gaps: dict[str, Interval] = {}
        scores = []
        for task in TASKS:
            original, other = (
                seed_scores(run.scores, task, m, SPARSITY, "BC") for m in (method, control)
            )
            pair = original.align(other, join="inner")
            if len(pair[0]):
                scores.append((original.to_numpy(), other.to_numpy()))
                gaps[task] = difference_interval(*pair)
        if len(gaps) < len(TASKS):
            unscored.append(f"{name} has no scores on some task")
            continue
        more = improvement(*zip(*scores, strict=True))
        sides = [gap.side() for gap in gaps.values()]
        measured.append(f"{name}: scores more with probability {more.estimate:.2f}")
        intervals += [f"{name} {more.ends()}"] + [
            f"{label(TASK_LABELS, task)} {gap.estimate:+.1f} {gap.ends(1, '+')}"
            for task, gap in gaps.items()
        ]
        if more.high < 0.5 or sides.count(-1) >= SOME_TASKS:
            failures.append(f"{name}: worse")
        elif not (more.low > 0.5 and sides.count(1) >= SOME_TASKS):
            unclear.append(f"{name}: not clearly better")
    return Finding("; ".join(measured), ", ".join(intervals), failures, unclear, unscored)


def pair_name(key: tuple[str, str]) -> str:
    """Task and method as a reader knows them."""
    return f"{label(TASK_LABELS, key[0])} {label(METHOD_LABELS, key[1])}"
