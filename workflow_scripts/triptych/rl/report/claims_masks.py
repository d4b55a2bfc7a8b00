"""Comparisons of masks, bytes and times that claims judge."""

from itertools import combinations
from typing import Any

import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.statistics import difference_interval, mean_interval
from triptych.report.tables import TIMES
from triptych.rl.report.claims_facts import GROUPS, METHODS, NETWORKS, SPARSITY, UPDATES, Run
from triptych.rl.report.inference import is_dense_kernel, part_label
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS

FOUR_TIMES = (3.5, 4.5)
FIVE_TIMES = (4.5, 5.5)
AGREEMENT = 1e-6
FASTER_TRAINING = 2.5


def last_layer_keeps_most(run: Run) -> Finding:
    """Shares of their weights that layers keep, by depth (Figure 3)."""
    shares = _shares_by_depth(run.layers)
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


def patterns_are_alike(run: Run) -> Finding:
    """Which of every two layers keeps the larger share with SNIP and with GraSP (Section 4.2)."""
    failures: list[str] = []
    unclear: list[str] = []
    shares = _shares_by_depth(run.layers)
    panels: Any = dict.fromkeys(key[:2] for key in shares.index)
    depths: Any = shares.columns
    pairs = [(*panel, *two) for panel in panels for two in combinations(depths, 2)]
    for group, task, one, other in pairs:
        gaps = (shares[one] - shares[other]).loc[(group, task)]
        sides = [mean_interval(gaps[method]).side() for method in METHODS if method in gaps]
        text = f"layers {one + 1} and {other + 1} of the {group} on {label(TASK_LABELS, task)}"
        if set(sides) == {1, -1}:
            failures.append(f"opposite orders: {text}")
        elif len(set(sides)) > 1 or 0 in sides:
            unclear.append(f"no clear order: {text}")
    alike = len(pairs) - len(failures) - len(unclear)
    return Finding(
        f"{alike} of {len(pairs)} pairs of layers have one order with both methods",
        f"orders by 95% intervals over seeds: {len(failures)} opposite, {len(unclear)} unclear",
        failures,
        unclear,
    )


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
