"""Comparisons of masks, bytes and times that claims judge."""

from itertools import combinations
from typing import Any

import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.statistics import difference_interval, mean_interval
from triptych.report.tables import TIMES
from triptych.rl.methods import DENSE
from triptych.rl.report.claims_facts import GROUPS, METHODS, NETWORKS, SPARSITY, UPDATES, Run
from triptych.rl.report.inference import is_dense_kernel, part_label
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS

FOUR_TIMES = (3.5, 4.5)
FIVE_TIMES = (4.5, 5.5)
AGREEMENT = 1e-6
FASTER_TRAINING = 2.5


def last_layer_keeps_most(run: Run) -> Finding:
    """Shares of their weights that layers keep, by depth (Figure 3)."""
    found, measured, intervals = Finding(), [], []
    shares = _shares_by_depth(run.layers)
    panels: Any = dict.fromkeys(key[:2] for key in shares.index)
    for group, task in panels:
        of_panel = shares.loc[(group, task)]
        name = f"{group} on {label(TASK_LABELS, task)}"
        methods = [method for method in METHODS if method in of_panel.index]
        for method in methods:
            *others, last = of_panel.loc[method].mean()
            if not last > max(others):
                found.failures.append(
                    f"{label(METHOD_LABELS, method)} keeps more elsewhere in the {name} "
                    f"({max(others):.1f} % against {last:.1f} %)"
                )
        if len(methods) == len(METHODS):
            last = of_panel.iloc[:, -1]
            grasp, snip = last["grasp"].align(last["snip"], join="inner")
            gap = difference_interval(grasp.to_numpy(), snip.to_numpy())
            measured.append(f"{name}: SNIP {snip.mean():.1f} %, GraSP {grasp.mean():.1f} %")
            intervals.append(f"{name} {gap.ends(1)}")
            text = f"than SNIP in the {name}"
            found.require(gap.side(), f"GraSP keeps less {text}", f"GraSP may not keep more {text}")
    found.measured = "Share of the last layer kept: " + "; ".join(measured)
    found.interval = "GraSP minus SNIP in percentage points: " + ", ".join(intervals)
    return found


def patterns_are_alike(run: Run) -> Finding:
    """Which of every two layers keeps the larger share with SNIP and with GraSP (Section 4.2)."""
    found = Finding()
    shares = _shares_by_depth(run.layers)
    panels: Any = dict.fromkeys(key[:2] for key in shares.index)
    depths: Any = shares.columns
    pairs = [(*panel, *two) for panel in panels for two in combinations(depths, 2)]
    for group, task, one, other in pairs:
        gaps = (shares[one] - shares[other]).loc[(group, task)]
        sides = {mean_interval(gaps[method]).side() for method in METHODS if method in gaps}
        text = f"layers {one + 1} and {other + 1} of the {group} on {label(TASK_LABELS, task)}"
        found.require(
            -1 if sides == {1, -1} else int(0 not in sides),
            f"opposite orders: {text}",
            f"no clear order: {text}",
        )
    opposite, unclear = len(found.failures), len(found.unclear)
    alike = len(pairs) - opposite - unclear
    found.measured = f"{alike} of {len(pairs)} pairs of layers have one order with both methods"
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
    found, measured = Finding(interval="each figure is the range over tasks and seeds"), []
    for network in NETWORKS:
        name, parts = label(NETWORK_LABELS, network), []
        for method in (DENSE, *METHODS):
            ratios = _memory_ratios(run.sizes[run.sizes["network"] == network], method)
            if ratios.empty:
                continue
            case, word, (low, high) = (
                ("dense, sparsely indexed", "larger", FIVE_TIMES)
                if method == DENSE
                else (label(METHOD_LABELS, method), "smaller", FOUR_TIMES)
            )
            spread = dict.fromkeys(f"{end:.2f}" for end in (ratios.min(), ratios.max()))
            text = f"{' to '.join(spread)}{TIMES} {word}"
            parts.append(f"{case} {text}")
            if not ratios.between(low, high).all():
                found.failures.append(f"{name}, {case}: {text}, not {low} to {high}")
        measured.append(f"{name}: {', '.join(parts)}")
    found.measured = "; ".join(measured)
    return found


def _memory_ratios(sizes: pd.DataFrame, method: str) -> pd.Series:
    """Ratios of a network's bytes: indexed / dense for the dense network, dense / indexed for a
    pruned one, one entry a task and seed."""
    dense = sizes[(sizes["method"] == DENSE) & (sizes["format"] == "dense")]
    coo = sizes[(sizes["method"] == method) & (sizes["format"] == "coo")]
    stored = coo[coo["sparsity_percent"].isin([0, SPARSITY])].set_index("task")["bytes"]
    ratio = stored / dense.groupby("task")["bytes"].mean().reindex(stored.index)
    return (ratio if method == DENSE else 1 / ratio).dropna()


def sparse_inference_is_faster(run: Run) -> Finding:
    """Times to act of sparse kernels against the fastest dense one (Sections 5 and 6)."""
    long = run.latency
    dense = is_dense_kernel(long["kernel"])
    acting = ~long["part"].isin(UPDATES)
    rows = long[(long["sparsity_percent"] == SPARSITY) & ~dense & long["speedup"].notna() & acting]
    found, measured, ranges = Finding(), [], []
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
            ranges.append(f"{name} {_by_minima(same, best)}")
            if best["speedup"] <= 1:
                where = label(TASK_LABELS, best["task"])
                found.failures.append(f"{name}: no sparse kernel is faster on {where}")
            if best["maximum_difference"] > AGREEMENT:
                found.failures.append(f"{name}: outputs differ by {best['maximum_difference']:.1e}")
    found.measured = "Speed against the fastest dense kernel: " + "; ".join(measured)
    found.interval = "; ".join(ranges)
    return found


def sparse_training_is_faster(run: Run) -> Finding:
    """Times of updates with the kept weights alone against those of the dense twin."""
    long = run.latency[run.latency["sparsity_percent"] == SPARSITY]
    found, measured, ranges = Finding(), [], []
    for part, rows in long[long["part"].isin(UPDATES)].groupby("part", sort=False):
        dense = is_dense_kernel(rows["kernel"])
        alone = rows[~dense].iloc[0]
        measured.append(f"{part} {alone['speedup']:.2f}{TIMES}")
        ranges.append(f"{part} {_by_minima(rows[dense], alone)}")
        if alone["speedup"] < FASTER_TRAINING:
            found.failures.append(f"{part}: {alone['speedup']:.2f} times as fast")
        if alone["maximum_difference"] > AGREEMENT:
            found.failures.append(f"{part}: losses differ by {alone['maximum_difference']:.1e}")
    found.measured = "Speed of an update against the dense twin's: " + "; ".join(measured)
    found.interval = "; ".join(ranges)
    return found


def _by_minima(dense: pd.DataFrame, sparse: pd.Series) -> str:
    """Speed relative to the fastest dense kernel, both by their quickest repeats."""
    ratio = dense["microseconds_minimum"].min() / sparse["microseconds_minimum"]
    return f"by the minima of the repeats {ratio:.2f}{TIMES}"
