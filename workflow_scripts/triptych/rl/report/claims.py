"""The offline-RL paper's claims and four of ours, each fixed before the run that it judges."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from triptych.report.claims import ENOUGH_DATA, AllOf, AtLeast, Claim, Finding, IsTrue, Need, OneOf
from triptych.report.palette import label
from triptych.report.statistics import Interval, difference_interval
from triptych.report.tables import TIMES
from triptych.rl.report.claims_facts import (
    GROUPS,
    METHODS,
    MILLION,
    NETWORKS,
    SHUFFLED,
    SPARSITY,
    TASKS,
    UPDATES,
    Run,
)
from triptych.rl.report.inference import is_dense_kernel, part_label
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS
from triptych.rl.report.scores import ratio_to_dense, seed_scores, with_observations
from triptych.rl.report.small_data import ALGORITHMS as SMALL_ALGORITHMS
from triptych.rl.report.small_data import FEW, sparsity_helps
from triptych.rl.report.tables import improvement

KEEPS = 0.9
LEARNED = 0.9
STEADY = 15
LEARNING_TASKS = 2
SOME_TASKS = 2
PAPER_SEEDS = 5
FOUR_TIMES = (3.5, 4.5)
FIVE_TIMES = (4.5, 5.5)
AGREEMENT = 1e-6
FASTER_TRAINING = 2.5
DENSE_KERNELS = ("numpy dense", "torch dense")
PAPER_DEPTHS = {
    "actor": [("actor", f"l{n}") for n in (1, 2, 3)],
    "critic": [("critic", f"l{n}") for n in (1, 2, 3, 4, 5, 6)],
    "decoder": [("vae", f"d{n}") for n in (1, 2, 3)],
}
"""Layers among which the last one must keep most."""

_DATA = (
    AllOf("tasks", "data of all three tasks", TASKS),
    OneOf("data", "D4RL's expert data", ("d4rl",), substitute="other experts' data"),
)
_TRANSITIONS = AtLeast("transitions", "D4RL's million transitions", ENOUGH_DATA * MILLION)
_WIDE = IsTrue("measured widths", "networks of the paper's widths")
_PAIRS = [f"{task} {method}" for task in TASKS for method in METHODS]


def _scores(name: str, *more: Need) -> tuple[Need, ...]:
    """Needs of every claim on the scores of an algorithm."""
    return (
        *_DATA,
        AtLeast(f"{name} episodes", "10 episodes behind each run's score", 10),
        AtLeast(f"{name} seeds", f"{PAPER_SEEDS} seeds of every task and method", PAPER_SEEDS),
        *more,
        replace(_TRANSITIONS, substitute="fewer transitions"),
        OneOf("precision", "float32 or TF32", ("float32", "tf32"), substitute="lower precision"),
        IsTrue(f"{name} widths", "networks of the paper's widths", substitute="narrower networks"),
        AtLeast(f"{name} updates", "100,000 updates", 100_000, substitute="fewer updates"),
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


def last_layer_keeps_most(run: Run) -> Finding:
    """Shares of their weights that layers keep, by depth (Figure 3)."""
    layers = run.layers
    chosen = layers[(layers["sparsity_percent"] == SPARSITY) & layers["method"].isin(METHODS)]
    chosen = chosen[chosen["group"].isin(GROUPS)]
    # Twin critics are pooled: l1 and l4 are both the first.
    depth = ((chosen["layer"].str[-1].astype(int) - 1) % 3).rename("depth")
    sums = chosen.groupby(["group", "task", "method", "seed", depth])[["kept", "weights"]].sum()
    shares = 100 * (sums["kept"] / sums["weights"]).unstack("depth")
    failures: list[str] = []
    unclear: list[str] = []
    measured, intervals = [], []
    for group in GROUPS:
        of_group = shares[shares.index.get_level_values("group") == group].droplevel("group")
        for task in dict.fromkeys(of_group.index.get_level_values("task")):
            by_method = {m: of_group.loc[(task, m)] for m in METHODS if (task, m) in of_group.index}
            name = f"{group} on {label(TASK_LABELS, task)}"
            for method, rows in by_method.items():
                *others, last = rows.mean()
                if not last > max(others):
                    failures.append(
                        f"{label(METHOD_LABELS, method)} keeps more elsewhere in the {name} "
                        f"({max(others):.1f} % against {last:.1f} %)"
                    )
            if len(by_method) == len(METHODS):
                seeds = by_method["snip"].index.intersection(by_method["grasp"].index)
                grasp, snip = (by_method[m].loc[seeds].iloc[:, -1] for m in ("grasp", "snip"))
                gap = difference_interval(grasp.to_numpy(), snip.to_numpy())
                measured.append(f"{name}: SNIP {snip.mean():.1f} %, GraSP {grasp.mean():.1f} %")
                intervals.append(f"{name} {gap.ends(1)}")
                if (side := gap.side()) < 1:
                    verb = "keeps less" if side else "may not keep more"
                    (failures if side else unclear).append(f"GraSP {verb} than SNIP in the {name}")
    return Finding(
        "Share of the last layer kept: " + "; ".join(measured),
        "GraSP minus SNIP in percentage points: " + ", ".join(intervals),
        failures,
        unclear,
    )


def memory_shrinks_four_times(run: Run) -> Finding:
    """Bytes of dense and of sparsely indexed files (Table 1)."""
    sizes = run.sizes
    failures, measured = [], []
    for network in NETWORKS:
        name, parts = label(NETWORK_LABELS, network), []
        for method in ("dense", *METHODS):
            ratios = _memory_ratios(sizes[sizes["network"] == network], method)
            if ratios.empty:
                continue
            case = "dense, sparsely indexed" if method == "dense" else label(METHOD_LABELS, method)
            low, high = FIVE_TIMES if method == "dense" else FOUR_TIMES
            word = "larger" if method == "dense" else "smaller"
            spread = dict.fromkeys(f"{end:.2f}" for end in (ratios.min(), ratios.max()))
            text = f"{' to '.join(spread)}{TIMES} {word}"
            parts.append(f"{case} {text}")
            if not (low <= ratios.min() and ratios.max() <= high):
                failures.append(f"{name}, {case}: {text}, not {low} to {high}")
        measured.append(f"{name}: {', '.join(parts)}")
    return Finding("; ".join(measured), "each figure is the range over tasks and seeds", failures)


def _memory_ratios(sizes: pd.DataFrame, method: str) -> pd.Series:
    """Ratios of a network's bytes: indexed / dense for the dense network, dense / indexed for a
    pruned one, one entry a task and seed."""
    dense = sizes[(sizes["method"] == "dense") & (sizes["format"] == "dense")]
    coo = sizes[(sizes["method"] == method) & (sizes["format"] == "coo")]
    stored = coo[coo["sparsity_percent"].isin([0, SPARSITY])].set_index("task")["bytes"]
    ratio = stored / dense.groupby("task")["bytes"].mean().reindex(stored.index)
    return (ratio if method == "dense" else 1 / ratio).dropna()


def sparse_inference_is_faster(run: Run) -> Finding:
    """Times to act of sparse kernels against the fastest dense one (Sections 5 and 6)."""
    long = run.latency
    dense = is_dense_kernel(long["kernel"])
    acting = ~long["part"].isin(UPDATES)
    rows = long[(long["sparsity_percent"] == SPARSITY) & ~dense & long["speedup"].notna() & acting]
    failures, measured, ranges = [], [], []
    for _, cell in rows.groupby(["part", "candidates", "batch"], sort=False):
        best = cell.sort_values("value").iloc[0]
        part, batch = best["part"], best["batch"]
        name = (
            f"{part_label(part, int(best['candidates']))} at batch {batch}, "
            f"{label(METHOD_LABELS, best['method'])}"
        )
        measured.append(f"{name}: {best['kernel']} {best['speedup']:.2f}{TIMES}")
        if part == "actor" and batch == 1:
            same = long[dense & (long["part"] == part) & (long["batch"] == batch)]
            least = same["microseconds_minimum"].min() / best["microseconds_minimum"]
            ranges.append(f"{name} by the minima of the repeats {least:.2f}{TIMES}")
            if best["speedup"] <= 1:
                where = label(TASK_LABELS, best["task"])
                failures.append(f"{name}: no sparse kernel is faster on {where}")
            if best["maximum_difference"] > AGREEMENT:
                failures.append(f"{name}: outputs differ by {best['maximum_difference']:.1e}")
    return Finding(
        "Speed against the fastest dense kernel: " + "; ".join(measured),
        "; ".join(ranges),
        failures,
    )


def sparse_training_is_faster(run: Run) -> Finding:
    """Times of updates with the kept weights alone against those of the dense twin."""
    long = run.latency[run.latency["sparsity_percent"] == SPARSITY]
    failures, measured, ranges = [], [], []
    for part, rows in long[long["part"].isin(UPDATES)].groupby("part", sort=False):
        alone = rows[~is_dense_kernel(rows["kernel"])].iloc[0]
        twin = rows.loc[is_dense_kernel(rows["kernel"]), "microseconds_minimum"].min()
        measured.append(f"{part} {alone['speedup']:.2f}{TIMES}")
        ranges.append(
            f"{part} by the minima of the repeats {twin / alone['microseconds_minimum']:.2f}{TIMES}"
        )
        if alone["speedup"] < FASTER_TRAINING:
            failures.append(f"{part}: {alone['speedup']:.2f} times as fast")
        if alone["maximum_difference"] > AGREEMENT:
            failures.append(f"{part}: losses differ by {alone['maximum_difference']:.1e}")
    return Finding(
        "Speed of an update against the dense twin's: " + "; ".join(measured),
        "; ".join(ranges),
        failures,
    )


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
            AtLeast("mask seeds", f"masks of {PAPER_SEEDS} seeds", PAPER_SEEDS),
            AllOf("mask layers", f"all layers of {', '.join(GROUPS)}", _EVERY_DEPTH),
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
            AtLeast("size seeds", f"files of {PAPER_SEEDS} seeds of every task", PAPER_SEEDS),
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
            IsTrue("actor timed", f"the actor timed at batch 1 and {SPARSITY}% sparsity"),
            AllOf("kernels", "NumPy's and PyTorch's dense kernels", DENSE_KERNELS),
            AtLeast("rounds", "5 rounds of timing", 5),
        ),
        sparse_inference_is_faster,
    ),
    Claim(
        "rl-ours-sensors",
        "Ours, fixed after trials of two seeds and before the run of five: with BC at "
        f"{SPARSITY}% sparsity, on all three tasks and with both methods, normalised observations "
        "gain more score than they gain the dense network: the 95% interval of the difference of "
        "the gains (seeds paired) lies above 0.",
        _scores("BC", AllOf("both ways", "BC on raw and on normalised observations", _PAIRS)),
        normalising_makes_it_work,
    ),
    Claim(
        "rl-ours-shuffled",
        f"Ours, fixed before the run: with BC at {SPARSITY}% sparsity, SNIP and GraSP each score "
        "more than their own mask shuffled within its layers: the probability of improvement over "
        "the three tasks has an interval above 0.5, and the difference of scores (seeds paired) "
        "one above 0 on at least two of them.",
        _scores("BC", AllOf("shuffled", "BC with shuffled masks of both methods", _PAIRS)),
        criteria_beat_their_shuffles,
    ),
    Claim(
        "rl-ours-small-data",
        f"Ours, fixed before any run: of TD3+BC and of IQL on {FEW:,} transitions of a task or "
        f"fewer, SNIP at {SPARSITY}% scores more than dense: the 95% interval of the difference "
        "(seeds paired; mean over tasks and numbers of transitions) lies above 0 for both.",
        (
            _DATA[0],
            AllOf(
                "small data",
                "TD3+BC and IQL on few transitions (config/small-data.yaml)",
                [f"{name} {task}" for name in SMALL_ALGORITHMS for task in TASKS],
            ),
            _DATA[1],
        ),
        lambda run: sparsity_helps(run.small, SPARSITY),
    ),
    Claim(
        "rl-ours-sparse-training",
        f"Ours, fixed before the run: at {SPARSITY}% sparsity, a network that is trained with its "
        f"kept weights alone takes at least {FASTER_TRAINING:g} times as many updates a "
        "second as its dense twin (medians; one thread of a processor, float32, the references' "
        f"batches of 100), with BC and with BCQ, and its losses are equal to {AGREEMENT:g}. Time "
        "follows from how many weights are kept, so any data will do.",
        (
            _WIDE,
            AllOf("updates timed", f"updates timed at {SPARSITY}% sparsity", UPDATES),
            AtLeast("rounds", "5 rounds of timing", 5),
        ),
        sparse_training_is_faster,
    ),
)
