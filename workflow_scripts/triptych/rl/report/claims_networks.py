"""The claims of the offline-RL paper that masks, files and timings decide, without any policy."""

import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.statistics import difference_interval
from triptych.report.tables import TIMES
from triptych.rl.report.claims_facts import GROUPS, METHODS, NETWORKS, SPARSITY, Run
from triptych.rl.report.inference import is_dense_kernel, part_label
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS

FOUR_TIMES = (3.5, 4.5)
FIVE_TIMES = (4.5, 5.5)
AGREEMENT = 1e-6
DENSE_KERNELS = ("numpy dense", "torch dense")
PAPER_DEPTHS = {
    "actor": [("actor", f"l{n}") for n in (1, 2, 3)],
    "critic": [("critic", f"l{n}") for n in (1, 2, 3, 4, 5, 6)],
    "decoder": [("vae", f"d{n}") for n in (1, 2, 3)],
}
"""Layers among which the last one must keep most."""


def last_layer_keeps_most(run: Run) -> Finding:
    """Shares of their weights that layers keep, by depth (Figure 3)."""
    layers = run.layers
    chosen = layers[(layers["sparsity_percent"] == SPARSITY) & layers["method"].isin(METHODS)]
    failures, measured, intervals = [], [], []
    for group in GROUPS:
        shares = _shares_by_depth(chosen[chosen["group"] == group])
        last = shares.columns.max() if len(shares.columns) else 0
        for task in dict.fromkeys(shares.index.get_level_values("task")):
            by_method = {m: shares.loc[(task, m)] for m in METHODS if (task, m) in shares.index}
            name = f"{group} on {label(TASK_LABELS, task)}"
            for method, rows in by_method.items():
                means = rows.mean()
                if not means[last] > means.drop(last).max():
                    failures.append(
                        f"{label(METHOD_LABELS, method)} keeps more elsewhere in the {name} "
                        f"({100 * means.drop(last).max():.1f} % against {100 * means[last]:.1f} %)"
                    )
            if len(by_method) == len(METHODS):
                seeds = by_method["snip"].index.intersection(by_method["grasp"].index)
                grasp, snip = (100 * by_method[m].loc[seeds, last] for m in ("grasp", "snip"))
                gap = difference_interval(grasp.to_numpy(), snip.to_numpy())
                measured.append(f"{name}: SNIP {snip.mean():.1f} %, GraSP {grasp.mean():.1f} %")
                intervals.append(f"{name} {gap.ends(1)}")
                if not gap.low > 0:
                    failures.append(f"GraSP does not clearly keep more than SNIP in the {name}")
    return Finding(
        "Share of the last layer kept: " + "; ".join(measured),
        "GraSP minus SNIP in percentage points: " + ", ".join(intervals),
        failures,
    )


def _shares_by_depth(layers: pd.DataFrame) -> pd.DataFrame:
    """Share kept [task, method, seed] x depth, both critics pooled (l1 and l4 are depth 0)."""
    if layers.empty:
        return pd.DataFrame(
            index=pd.MultiIndex.from_arrays([[], [], []], names=["task", "method", "seed"])
        )
    depth = (layers["layer"].str[-1].astype(int) - 1) % 3
    pooled = layers.groupby(["task", "method", "seed", depth.rename("depth")])[
        ["kept", "weights"]
    ].sum()
    return (pooled["kept"] / pooled["weights"]).unstack("depth")


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
    """Of one network: indexed / dense bytes of the dense network, or dense / indexed bytes of
    a pruned one, one entry a task and seed."""
    sparsity = 0 if method == "dense" else SPARSITY
    dense = sizes[(sizes["method"] == "dense") & (sizes["format"] == "dense")]
    dense_bytes = dense.groupby("task")["bytes"].mean()
    stored = sizes[
        (sizes["method"] == method)
        & (sizes["sparsity_percent"] == sparsity)
        & (sizes["format"] == "coo")
    ].set_index("task")["bytes"]
    ratio = stored / dense_bytes.reindex(stored.index)
    return (ratio if method == "dense" else 1 / ratio).dropna()


def sparse_inference_is_faster(run: Run) -> Finding:
    """Times to act of sparse kernels against the fastest dense one (Sections 5 and 6)."""
    long = run.latency
    rows = long[(long["sparsity_percent"] == SPARSITY) & ~is_dense_kernel(long["kernel"])]
    failures, measured, ranges = [], [], []
    cases = ["task", "method", "part", "candidates", "batch"]
    for _, cell in rows.groupby(cases, sort=False):
        if cell["speedup"].isna().all():
            continue
        best = cell.sort_values("value").iloc[0]
        task, part, batch = best["task"], best["part"], best["batch"]
        name = (
            f"{part_label(part, int(best['candidates']))} at batch {batch}, "
            f"{label(METHOD_LABELS, best['method'])}"
        )
        measured.append(f"{name}: {best['kernel']} {best['speedup']:.2f}{TIMES}")
        if part == "actor" and batch == 1:
            dense = long[is_dense_kernel(long["kernel"]) & (long["task"] == task)]
            dense = dense[(dense["part"] == part) & (dense["batch"] == batch)]
            least = dense["microseconds_minimum"].min() / best["microseconds_minimum"]
            ranges.append(f"{name} by the minima of the repeats {least:.2f}{TIMES}")
            if best["speedup"] <= 1:
                where = label(TASK_LABELS, task)
                failures.append(f"{name}: no sparse kernel is faster on {where}")
            if best["maximum_difference"] > AGREEMENT:
                failures.append(f"{name}: outputs differ by {best['maximum_difference']:.1e}")
    return Finding(
        "Speed against the fastest dense kernel: " + "; ".join(measured),
        "; ".join(ranges),
        failures,
    )
