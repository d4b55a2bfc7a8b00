"""The claims of the offline-RL paper and two of ours, each fixed before any result was seen."""

from functools import partial

import numpy as np
import pandas as pd

from triptych.report.claims import ENOUGH_DATA, Claim, Finding, Need
from triptych.report.palette import label
from triptych.report.statistics import Interval, difference_interval
from triptych.rl.report.claims_facts import (
    GROUPS,
    METHODS,
    MILLION,
    SHUFFLED,
    SPARSITY,
    TASKS,
    Run,
)
from triptych.rl.report.claims_networks import (
    AGREEMENT,
    DENSE_KERNELS,
    FIVE_TIMES,
    FOUR_TIMES,
    PAPER_DEPTHS,
    last_layer_keeps_most,
    memory_shrinks_four_times,
    sparse_inference_is_faster,
)
from triptych.rl.report.labels import METHOD_LABELS, TASK_LABELS
from triptych.rl.report.scores import ratio_to_dense, seed_scores, seen_as
from triptych.rl.report.tables import improvement

KEEPS = 0.9
LEARNED = 0.9
STEADY = 15
LEARNING_TASKS = 2
SOME_TASKS = 2
PAPER_SEEDS = 5

_DATA = (
    Need("tasks", "data of all three tasks", every=TASKS),
    Need("data", "D4RL's expert data", among=("d4rl",), elsewhere=True),
)
_TRANSITIONS = Need("transitions", "D4RL's million transitions", least=ENOUGH_DATA * MILLION)
_WIDE = Need("measured widths", "networks of the paper's widths")
_PAIRS = [f"{task} {method}" for task in TASKS for method in METHODS]


def _scores(name: str, *more: Need) -> tuple[Need, ...]:
    """What every claim on the scores of an algorithm needs."""
    return (
        *_DATA,
        Need(f"{name} episodes", "10 episodes behind each run's score", least=10),
        Need(f"{name} seeds", f"{PAPER_SEEDS} seeds of every task and method", least=PAPER_SEEDS),
        *more,
        Need(*("transitions", _TRANSITIONS.what, _TRANSITIONS.least), elsewhere=True),
        Need("precision", "float32 or TF32", among=("float32", "tf32"), elsewhere=True),
        Need(f"{name} widths", "networks of the paper's widths", elsewhere=True),
        Need(f"{name} updates", "100,000 updates", least=100_000, elsewhere=True),
    )


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
    failures = [
        f"{pair_name(key)} may lose score"
        for key, ratio in ratios.items()
        if key[0] != losing and not keeps(ratio)
    ]
    failures += [
        f"{pair_name(key)} does not clearly lose score"
        for key, ratio in ratios.items()
        if key[0] == losing and not loses(ratio)
    ]
    few = len(TASKS) - len(unlearned) < LEARNING_TASKS
    told = tuple(unlearned.values())
    return Finding(
        "Ratio to dense: "
        + ", ".join(f"{pair_name(key)} {ratio.estimate:.2f}" for key, ratio in known.items()),
        ", ".join(f"{pair_name(key)} {ratio.ends()}" for key, ratio in known.items()),
        failures,
        obstacles=[f"{pair_name(key)} was not run" for key in ratios if key not in known]
        + list(told if few else ()),
        elsewhere=() if few else told,
    )


def keeps(ratio: Interval) -> bool:
    """Whether the interval shows that at least KEEPS of the dense score is kept."""
    return bool(ratio.low >= KEEPS)


def loses(ratio: Interval) -> bool:
    """Whether the ratio is below KEEPS and the interval excludes an equal score."""
    return bool(ratio.estimate < KEEPS and ratio.high < 1)


def not_learned(run: Run, algorithm: str) -> dict[str, str]:
    """Tasks whose dense policies can't be judged against, each with the reason.

    A policy that learned nothing has nothing to lose: its ratio would mean nothing.
    """
    found = {}
    for task in TASKS:
        dense = seed_scores(run.scores, task, "dense", 0, algorithm)
        name = f"the dense {algorithm} on {label(TASK_LABELS, task)}"
        expert = run.behaviour.get(task, np.inf)
        if dense.empty or not dense.mean() >= LEARNED * expert:
            part = "" if dense.empty else f" ({dense.mean():.0f} of {expert:.0f})"
            found[task] = f"{name} does not reach {LEARNED:.0%} of the data's policy{part}"
        elif (spread := dense.max() - dense.min()) >= STEADY:
            found[task] = f"{name} differs by {spread:.0f} points from seed to seed"
    return found


def normalising_makes_it_work(run: Run) -> Finding:
    """How much more BC gains by normalised observations where it is pruned than where dense."""
    failures, measured, intervals, unscored = [], [], [], []
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
            if not gap.low > 0:
                failures.append(f"{name} does not clearly gain more than the dense network")
    return Finding(
        "Points that BC gains by normalised observations: " + ", ".join(measured),
        "Gained beyond dense: " + ", ".join(intervals),
        failures,
        unscored,
    )


def _gained(runs: pd.DataFrame, task: str, method: str, sparsity: float) -> pd.Series:
    """Score with normalised less that with raw observations, by seed."""
    normalised, raw = (
        seed_scores(seen_as(runs, kind), task, method, sparsity, "BC")
        for kind in ("normalised", "raw")
    )
    return normalised - raw


def criteria_beat_their_shuffles(run: Run) -> Finding:
    """How often SNIP and GraSP score more than their own masks shuffled within layers."""
    failures, measured, intervals, unscored = [], [], [], []
    for method, control in SHUFFLED.items():
        name = f"{label(METHOD_LABELS, method)} against {label(METHOD_LABELS, control)}"
        gaps: dict[str, Interval] = {}
        scores = []
        for task in TASKS:
            own, other = (
                seed_scores(run.scores, task, m, SPARSITY, "BC") for m in (method, control)
            )
            pair = own.align(other, join="inner")
            if len(pair[0]):
                scores.append((own.to_numpy(), other.to_numpy()))
                gaps[task] = difference_interval(*pair)
        if len(gaps) < len(TASKS):
            unscored.append(f"{name} has no scores on some task")
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
    return Finding("; ".join(measured), ", ".join(intervals), failures, unscored)


def pair_name(key: tuple[str, str]) -> str:
    """Task and method as a reader knows them."""
    return f"{label(TASK_LABELS, key[0])} {label(METHOD_LABELS, key[1])}"


_JUDGED = (
    f"Only tasks are judged on which the dense policies reach {LEARNED:.0%} of the data's policy, "
    f"within {STEADY} points of each other; {LEARNING_TASKS} of them at least."
)
_EVERY_DEPTH = [f"{network} {layer}" for depth in PAPER_DEPTHS.values() for network, layer in depth]

CLAIMS = (
    Claim(
        "rl-bc-95",
        "BC keeps its score where the lower end of the 95% interval (seeds paired) of the ratio to "
        f"dense is at least {KEEPS}; required on all three tasks with both methods. {_JUDGED}",
        _scores("BC"),
        partial(keeps_score, algorithm="BC"),
    ),
    Claim(
        "rl-bcq-95",
        "On HalfCheetah and Walker2d the lower end of the 95% interval of the ratio to dense is at "
        f"least {KEEPS} with both methods; on Hopper, with both, the ratio is below {KEEPS} and "
        f"the upper end of its interval below 1. {_JUDGED}",
        _scores("BCQ"),
        partial(keeps_score, algorithm="BCQ", losing="hopper"),
    ),
    Claim(
        "rl-last-layer",
        f"In the masks of actor, critic and decoder at {SPARSITY}% sparsity, on every task, the "
        "last layer keeps a larger mean share of its weights than any other layer with both "
        "methods, and the 95% interval of GraSP minus SNIP (seeds paired) of that share lies above "
        "0. Twin critics count together.",
        (
            *_DATA,
            _TRANSITIONS,
            _WIDE,
            Need("mask seeds", f"masks of {PAPER_SEEDS} seeds", least=PAPER_SEEDS),
            Need("mask layers", f"all layers of {', '.join(GROUPS)}", every=_EVERY_DEPTH),
        ),
        last_layer_keeps_most,
    ),
    Claim(
        "rl-memory-4x",
        f"For actor, critic and VAE: dense bytes over sparsely indexed bytes at {SPARSITY}% lie in "
        f"{FOUR_TIMES[0]} to {FOUR_TIMES[1]} with both methods, and sparsely indexed dense bytes "
        f"over dense bytes in {FIVE_TIMES[0]} to {FIVE_TIMES[1]}. Bytes follow from how many "
        "weights are kept, so any data will do.",
        (
            _WIDE,
            Need("size seeds", f"files of {PAPER_SEEDS} seeds of every task", least=PAPER_SEEDS),
        ),
        memory_shrinks_four_times,
    ),
    Claim(
        "rl-sparse-inference",
        f"At {SPARSITY}% sparsity and batch 1 the fastest sparse kernel of the actor has a lower "
        f"median latency than the fastest dense kernel, with outputs equal to {AGREEMENT:g}. Time "
        "follows from how many weights are kept, so any data will do.",
        (
            _WIDE,
            Need("actor timed", f"the actor timed at batch 1 and {SPARSITY}% sparsity"),
            Need("kernels", "NumPy's and PyTorch's dense kernels", every=DENSE_KERNELS),
            Need("rounds", "5 rounds of timing", least=5),
        ),
        sparse_inference_is_faster,
    ),
    Claim(
        "rl-ours-sensors",
        "Ours, fixed after trials of two seeds and before the run of five: with BC at "
        f"{SPARSITY}% sparsity, on all three tasks and with both methods, normalised observations "
        "gain more score than they gain the dense network: the 95% interval of the difference of "
        "the gains (seeds paired) lies above 0.",
        _scores("BC", Need("both ways", "BC on raw and on normalised observations", every=_PAIRS)),
        normalising_makes_it_work,
    ),
    Claim(
        "rl-ours-shuffled",
        f"Ours, fixed before the run: with BC at {SPARSITY}% sparsity, SNIP and GraSP each score "
        "more than their own mask shuffled within its layers: the probability of improvement over "
        "the three tasks has an interval above 0.5, and the difference of scores (seeds paired) "
        "one above 0 on at least two of them.",
        _scores("BC", Need("shuffled", "BC with shuffled masks of both methods", every=_PAIRS)),
        criteria_beat_their_shuffles,
    ),
)
