"""Comparisons of masks, bytes and times that claims judge."""

from itertools import combinations
from typing import Any

import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.statistics import difference_interval, mean_interval
from triptych.report.tables import TIMES
from triptych.rl.methods import DENSE
from triptych.rl.report.claims_facts import GROUPS, METHODS, SPARSITY, UPDATES, Run
from triptych.rl.report.inference import CASE, is_dense_kernel, part_label
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS

FOUR_TIMES = (3.5, 4.5)
FIVE_TIMES = (4.5, 5.5)
AGREEMENT = 1e-6
FASTER_TRAINING = 2.5


def last_layer_keeps_most(run: Run) -> Finding:
    """Shares of their weights that layers keep, by depth (Figure 3)."""
    found = Finding(heading="Share of the last layer kept: ")
    names: Any
    for names, shares in _shares_by_depth(run.layers).groupby(["group", "task"]):
        name = f"{names[0]} on {TASK_LABELS[names[1]]}"
        for method, means in shares.groupby("method").mean().iterrows():
            *others, last = means
            if not last > max(others):
                found.failures.append(
                    f"{METHOD_LABELS[str(method)]} keeps more elsewhere in the {name} "
                    f"({max(others):.1f} % against {last:.1f} %)"
                )
        last = shares.iloc[:, -1].unstack("method").reindex(columns=[*METHODS]).dropna()
        if len(last):
            gap = difference_interval(last["grasp"], last["snip"])
            means = last.mean()
            shown = f"{name}: SNIP {means['snip']:.1f} %, GraSP {means['grasp']:.1f} %"
            found.add(shown, f"{name}: GraSP minus SNIP {gap.ends(1)}")
            text = f"than SNIP in the {name}"
            found.require(gap.side(), f"GraSP keeps less {text}", f"GraSP may not keep more {text}")
    return found


def patterns_are_alike(run: Run) -> Finding:
    """Which of every two layers keeps the larger share with SNIP and with GraSP (Section 4.2)."""
    found, pairs, every = Finding(), 0, _shares_by_depth(run.layers)
    names: Any
    depths: Any = every.columns
    for names, shares in every.groupby(["group", "task"]):
        panel = f"{names[0]} on {TASK_LABELS[names[1]]}"
        for one, other in combinations(depths, 2):
            gaps = (shares[one] - shares[other]).groupby("method")
            sides = {mean_interval(of_method).side() for _, of_method in gaps}
            text = f"layers {one + 1} and {other + 1} of the {panel}"
            found.require(
                -1 if sides == {1, -1} else int(0 not in sides),
                f"opposite orders: {text}",
                f"no clear order: {text}",
            )
            pairs += 1
    opposite, unclear = len(found.failures), len(found.unclear)
    alike = pairs - opposite - unclear
    found.measured = f"{alike} of {pairs} pairs of layers have one order with both methods"
    found.interval = f"orders by 95% intervals over seeds: {opposite} opposite, {unclear} unclear"
    return found


def _shares_by_depth(layers: pd.DataFrame) -> pd.DataFrame:
    """Percent of their weights that layers keep at SPARSITY, by depth; a row a group, task, method
    and seed."""
    chosen = layers[(layers["sparsity_percent"] == SPARSITY) & layers["method"].isin(METHODS)]
    chosen = chosen[chosen["group"].isin(GROUPS)]
    # Twin critics are pooled: l1 and l4 are both the first.
    depth = ((chosen["layer"].str[-1].astype(int) - 1) % 3).rename("depth")
    sums = chosen.groupby(["group", "task", "method", "seed", depth])[["kept", "weights"]].sum()
    return 100 * (sums["kept"] / sums["weights"]).unstack("depth")


def memory_shrinks_four_times(run: Run) -> Finding:
    """Bytes of dense and of sparsely indexed files (Table 1)."""
    found = Finding(interval="each figure is the range over tasks and seeds")
    sizes = run.sizes[run.sizes["sparsity_percent"].isin([0, SPARSITY])]
    for network, stored in sizes.groupby("network"):
        dense = stored[(stored["method"] == DENSE) & (stored["format"] == "dense")]
        coo = stored[stored["format"] == "coo"]
        larger = coo["bytes"] / coo["task"].map(dense.groupby("task")["bytes"].mean())
        name, parts = label(NETWORK_LABELS, str(network)), []
        for method in (DENSE, *METHODS):
            ratios = larger[coo["method"] == method].dropna()
            case, word, (low, high) = "dense, sparsely indexed", "larger", FIVE_TIMES
            if method != DENSE:
                case, word, (low, high) = METHOD_LABELS[method], "smaller", FOUR_TIMES
                ratios = 1 / ratios
            if ratios.empty:
                continue
            spread = dict.fromkeys(f"{end:.2f}" for end in (ratios.min(), ratios.max()))
            text = f"{case} {' to '.join(spread)}{TIMES} {word}"
            parts.append(text)
            if not ratios.between(low, high).all():
                found.failures.append(f"{name}, {text}, not {low} to {high}")
        found.add(f"{name}: {', '.join(parts)}")
    return found


def sparse_kernels_are_faster(run: Run, training: bool) -> Finding:
    """Times of the fastest sparse kernel against the fastest dense one (Sections 5 and 6).

    training: whether updates are judged, which must be FASTER_TRAINING times as fast, or the actor
    at batch 1, which must be faster.
    """
    found = Finding(heading="Speed against the fastest dense kernel: ")
    least = FASTER_TRAINING if training else 1
    long = run.latency[run.latency["sparsity_percent"] == SPARSITY]
    for _, kernels in long[long["part"].isin(UPDATES) == training].groupby(CASE, sort=False):
        dense = is_dense_kernel(kernels["kernel"])
        if not dense.any() or dense.all():
            continue
        best = kernels[~dense].sort_values("value").iloc[0]
        part, batch = best["part"], best["batch"]
        name = f"{part_label(part, best['candidates'])} at batch {batch}, "
        name += METHOD_LABELS[best["method"]]
        found.add(f"{name}: {best['kernel']} {best['speedup']:.2f}{TIMES}")
        if not training and (part, batch) != ("actor", 1):
            continue
        ratio = kernels.loc[dense, "microseconds_minimum"].min() / best["microseconds_minimum"]
        found.add("", f"{name} by the minima of the repeats {ratio:.2f}{TIMES}")
        if not (best["speedup"] > 1 and best["speedup"] >= least):
            found.failures.append(f"{name}: {best['speedup']:.2f} times as fast as dense")
        if best["maximum_difference"] > AGREEMENT:
            found.failures.append(f"{name}: outputs differ by {best['maximum_difference']:.1e}")
    return found
