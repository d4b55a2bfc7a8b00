"""Comparisons of scores that claims judge."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.statistics import Interval, difference_interval, mean_interval
from triptych.rl.methods import DENSE
from triptych.rl.report.claims_facts import (
    METHODS,
    OF_SCORES,
    PAIRS,
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
    found = Finding()
    ratios = _ratios(run, algorithm, TASKS, (SPARSITY,), found)
    known = {key: ratio for key, ratio in ratios.items() if not np.isnan(ratio.estimate)}
    missing = [f"{pair_name(*key)} was not run" for key in ratios if key not in known]
    found.obstacles[:0] = missing
    for key, ratio in sorted(known.items(), key=lambda item: item[0][0] == losing):
        if key[0] == losing:
            verb, side = "lose", loses(ratio) - keeps(ratio)
        else:
            verb, side = "keep", keeps(ratio) - (ratio.high < KEEPS)
        name = pair_name(*key)
        found.require(side, f"{name} does not {verb} its score", f"{name} may not {verb} its score")
    found.measured = "Ratio to dense: " + ", ".join(
        f"{pair_name(*key)} {ratio.estimate:.2f}" for key, ratio in known.items()
    )
    found.interval = ", ".join(f"{pair_name(*key)} {ratio.ends()}" for key, ratio in known.items())
    return found


def keeps_score_at_every_sparsity(run: Run) -> Finding:
    """Ratios to the dense score at each of SPARSITIES (Section 4), without EXCEPTED."""
    found, measured, intervals = Finding(), [], []
    for algorithm in OF_SCORES:
        tasks = [task for task in TASKS if (algorithm, task) != EXCEPTED]
        ratios = {
            f"{algorithm} on {pair_name(*key)} at {key[-1]}%": ratio
            for key, ratio in _ratios(run, algorithm, tasks, SPARSITIES, found).items()
            if not np.isnan(ratio.estimate)
        }
        for name, ratio in ratios.items():
            side = keeps(ratio) - (ratio.high < KEEPS)
            text = f"keep the score of {name}"
            found.require(side, f"does not {text}", f"may not {text}")
        if ratios:
            least = min(ratios, key=lambda name: ratios[name].estimate)
            measured.append(f"{least} {ratios[least].estimate:.2f}")
            intervals.append(f"{least} {ratios[least].ends()}")
    found.measured = f"Least ratio to dense: {', '.join(measured)}"
    found.interval = ", ".join(intervals)
    return found


def _ratios(
    run: Run, algorithm: str, tasks: Sequence[str], levels: Sequence[int], found: Finding
) -> dict[tuple[str, str, int], Interval]:
    """Ratios to the dense score by task, method and sparsity, nan where one was not run.

    Tasks on which the dense policies learned nothing are left out, which `found` notes.
    """
    unlearned = not_learned(run, algorithm, tasks)
    few = len(tasks) - len(unlearned) < LEARNING_TASKS
    (found.obstacles if few else found.partly).extend(unlearned.values())
    return {
        key: ratio_to_dense(run.scores, *key, algorithm)
        for key in product(tasks, METHODS, levels)
        if key[0] not in unlearned
    }


def other_prunings_do_not_help(run: Run) -> Finding:
    """Scores by other batches and iterations less those of the default pruning (Section 4)."""
    found, measured, intervals = Finding(), [], []
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
            found.failures.append(f"{text} scores more")
    found.measured = (
        f"Points more than by the default pruning, mean over tasks: {', '.join(measured)}"
    )
    found.interval = ", ".join(intervals)
    return found


def keeps(ratio: Interval) -> bool:
    """Whether the interval shows that at least KEEPS of the dense score is kept."""
    return bool(ratio.low >= KEEPS)


def loses(ratio: Interval) -> bool:
    """Whether the ratio is below KEEPS and the interval excludes an equal score."""
    return bool(ratio.estimate < KEEPS and ratio.high < 1)


def not_learned(run: Run, algorithm: str, tasks: Sequence[str]) -> dict[str, str]:
    """Tasks whose dense policies learned nothing that could be lost, each with the reason."""
    reasons = {}
    for task in tasks:
        dense = seed_scores(run.scores, task, DENSE, 0, algorithm)
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
    found, measured, intervals = Finding(), [], []
    for task, method in PAIRS:
        name = pair_name(task, method)
        gained = _gained(run.seen, task, method, SPARSITY)
        more = (gained - _gained(run.seen, task, DENSE, 0)).dropna()
        if more.empty:
            found.obstacles.append(f"{name} has no scores on raw and on normalised observations")
            continue
        gap = mean_interval(more.to_numpy())
        measured.append(f"{name} {gained.mean():+.0f} (dense {(gained - more).mean():+.0f})")
        intervals.append(f"{name} {gap.ends(0, '+')}")
        text = "gain more than the dense network"
        found.require(gap.side(), f"{name} does not {text}", f"{name} does not clearly {text}")
    found.measured = "Points that BC gains by normalised observations: " + ", ".join(measured)
    found.interval = f"Gained beyond dense: {', '.join(intervals)}" if intervals else ""
    return found


def _gained(runs: pd.DataFrame, task: str, method: str, sparsity: float) -> pd.Series:
    """Score with normalised less that with raw observations, by seed."""
    normalised, raw = (
        seed_scores(with_observations(runs, kind), task, method, sparsity, "BC")
        for kind in ("normalised", "raw")
    )
    return normalised - raw


def criteria_beat_their_shuffles(run: Run) -> Finding:
    """Probability that SNIP and GraSP score more than their masks shuffled within layers."""
    found, measured, intervals = Finding(), [], []
    for method, control in SHUFFLED.items():
        name = f"{label(METHOD_LABELS, method)} against {label(METHOD_LABELS, control)}"
        scores = [
            [seed_scores(run.scores, task, each, SPARSITY, "BC") for each in (method, control)]
            for task in TASKS
        ]
        pairs = [own.align(other, join="inner") for own, other in scores]
        if any(own.empty for own, _ in pairs):
            found.obstacles.append(f"{name} has no scores on some task")
            continue
        gaps = [difference_interval(*pair) for pair in pairs]
        more = improvement(*zip(*scores, strict=True))
        sides = [gap.side() for gap in gaps]
        measured.append(f"{name}: scores more with probability {more.estimate:.2f}")
        intervals.append(f"{name} {more.ends()}")
        intervals += [
            f"{label(TASK_LABELS, task)} {gap.estimate:+.1f} {gap.ends(1, '+')}"
            for task, gap in zip(TASKS, gaps, strict=True)
        ]
        worse = more.high < 0.5 or sides.count(-1) >= SOME_TASKS
        better = more.low > 0.5 and sides.count(1) >= SOME_TASKS
        found.require(better - worse, f"{name}: worse", f"{name}: not clearly better")
    found.measured, found.interval = "; ".join(measured), ", ".join(intervals)
    return found


def pair_name(task: str, method: str, *_: int) -> str:
    """Task and method as a reader knows them."""
    return f"{label(TASK_LABELS, task)} {label(METHOD_LABELS, method)}"
