"""Claims of this project's own, with criteria fixed before the runs that decide them.

They stand beside the paper's and are decided under the same conditions (`claims.Conditions`).
"""

import pandas as pd

from triptych.core.statistics import Interval, difference_interval
from triptych.report.palette import label
from triptych.report.verdicts import Verdict, decide
from triptych.rl.report.claims import METHODS, SPARSITY, TASKS, Conditions, pair_name
from triptych.rl.report.comparisons import improvement
from triptych.rl.report.labels import METHOD_LABELS, TASK_LABELS
from triptych.rl.report.scores import seed_scores, seen_as

SHUFFLED = {"snip": "shuffled", "grasp": "shuffled_grasp"}
SOME_TASKS = 2


def normalising_makes_it_work(runs: pd.DataFrame, run: Conditions) -> Verdict:
    """rl-ours-sensors: see `claims.CRITERIA`. runs: as `run_scores` returns them, of both ways of
    seeing observations."""
    failures, measured, intervals = [], [], []
    obstacles = run.obstacles()
    for task in TASKS:
        for method in METHODS:
            name = pair_name((task, method))
            gained = _gained(runs, task, method, SPARSITY)
            more = (gained - _gained(runs, task, "dense", 0)).dropna()
            if more.empty:
                obstacles.append(f"{name} was not trained on raw and on normalised observations")
                continue
            gap = difference_interval(more.to_numpy(), 0 * more.to_numpy())
            measured.append(f"{name} {gained.mean():+.0f} (dense {(gained - more).mean():+.0f})")
            intervals.append(f"{name} {gap.ends(0, '+')}")
            if not gap.low > 0:
                failures.append(f"{name} does not clearly gain more than the dense network")
    return decide(
        "rl-ours-sensors",
        obstacles=obstacles,
        failures=failures,
        measured="Points that BC gains by normalised observations: " + ", ".join(measured),
        interval="Gained beyond dense: " + ", ".join(intervals),
        other_data=run.departures(),
    )


def _gained(runs: pd.DataFrame, task: str, method: str, sparsity: float) -> pd.Series:
    """Score with normalised less that with raw observations, by seed."""
    normalised, raw = (
        seed_scores(seen_as(runs, kind), task, method, sparsity, "BC")
        for kind in ("normalised", "raw")
    )
    return normalised - raw


def criteria_beat_their_shuffles(runs: pd.DataFrame, run: Conditions) -> Verdict:
    """rl-ours-shuffled: see `claims.CRITERIA`. runs: as `run_scores` returns them."""
    failures, measured, intervals = [], [], []
    obstacles = run.obstacles()
    for method, control in SHUFFLED.items():
        name = f"{label(METHOD_LABELS, method)} against {label(METHOD_LABELS, control)}"
        gaps: dict[str, Interval] = {}
        scores = []
        for task in TASKS:
            own, other = (seed_scores(runs, task, m, SPARSITY, "BC") for m in (method, control))
            shared = own.index.intersection(other.index)
            if len(shared):
                scores.append((own.to_numpy(), other.to_numpy()))
                gaps[task] = difference_interval(own[shared], other[shared])
        if len(gaps) < len(TASKS):
            obstacles.append(f"{name} was not run on every task")
            continue
        more = improvement(*zip(*scores, strict=True))
        better = [task for task, gap in gaps.items() if gap.low > 0]
        measured.append(f"{name}: scores more with probability {more.estimate:.2f}")
        intervals += [f"{name} {more.ends()}"] + [
            f"{label(TASK_LABELS, task)} {gap.estimate:+.1f} {gap.ends(1, '+')}"
            for task, gap in gaps.items()
        ]
        if not (more.low > 0.5 and len(better) >= SOME_TASKS):
            failures.append(f"{name}: not clearly better")
    return decide(
        "rl-ours-shuffled",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval=", ".join(intervals),
        other_data=run.departures(),
    )
