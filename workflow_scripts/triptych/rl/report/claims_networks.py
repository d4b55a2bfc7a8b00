"""The claims of the offline-RL paper that masks, files and timings decide.

The criteria stand in `claims_rl.CRITERIA`; none of them needs a trained policy.
"""

from collections.abc import Sequence

import pandas as pd

from triptych.core.statistics import difference_interval
from triptych.report.palette import label
from triptych.report.tables import TIMES
from triptych.report.verdicts import Verdict, decide, few_data
from triptych.rl.report.claims import (
    AGREEMENT,
    DENSE_KERNELS,
    ENOUGH_ROUNDS,
    FIVE_TIMES,
    FOUR_TIMES,
    METHODS,
    NETWORKS,
    PAPER_SEEDS,
    PAPER_TRANSITIONS,
    SPARSITY,
    TASKS,
    absent_tasks,
    at_paper_widths,
    counted,
    other_data,
    task_sources,
)
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS
from triptych.rl.report.tables_latency import is_dense_kernel, latency_long, part_label

GROUPS = ("actor", "critic", "decoder")
PAPER_DEPTHS = {
    "actor": [("actor", f"l{n}") for n in (1, 2, 3)],
    "critic": [("critic", f"l{n}") for n in (1, 2, 3, 4, 5, 6)],
    "decoder": [("vae", f"d{n}") for n in (1, 2, 3)],
}
"""Layers among which the last one must keep most."""


def last_layer_keeps_most(layers: pd.DataFrame, datasets: pd.DataFrame) -> Verdict:
    """rl-last-layer (Figure 3): see CRITERIA. layers: rows of layers.csv; datasets: of
    dataset.csv, by which the masks were made."""
    chosen = layers[(layers["sparsity_percent"] == SPARSITY) & layers["method"].isin(METHODS)]
    sources = task_sources(datasets)
    obstacles = _mask_obstacles(chosen) + absent_tasks(sources)
    for task, count in zip(datasets["task"], datasets["transitions"], strict=True):
        if sources[task] == "d4rl":
            name = f"transitions of {label(TASK_LABELS, task)}"
            obstacles += few_data(count, PAPER_TRANSITIONS, name)
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
    return decide(
        "rl-last-layer",
        obstacles=obstacles,
        failures=failures,
        measured="Share of the last layer kept: " + "; ".join(measured),
        interval="GraSP minus SNIP in percentage points: " + ", ".join(intervals),
        other_data=other_data(sources),
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


def _mask_obstacles(layers: pd.DataFrame) -> list[str]:
    obstacles = []
    if not at_paper_widths(layers):
        obstacles.append("no masks were made at the paper's widths")
    for group, of_group in layers.groupby("group"):
        for network, layer in PAPER_DEPTHS.get(str(group), ()):
            if not ((of_group["network"] == network) & (of_group["layer"] == layer)).any():
                obstacles.append(f"layer {layer} of the {group} was not counted")
    for method in METHODS:
        if not (layers["method"] == method).any():
            obstacles.append(f"{label(METHOD_LABELS, method)} has no mask at {SPARSITY}% sparsity")
    return obstacles + _few_seeds(layers, "group", GROUPS, METHODS)


def _few_seeds(
    rows: pd.DataFrame, column: str, values: Sequence[str], methods: Sequence[str]
) -> list[str]:
    """Whether a task and method, with any of the values in `column`, has fewer seeds than the
    paper's."""
    seeds = rows.groupby(["task", "method", column])["seed"].nunique()
    wanted = pd.MultiIndex.from_product([TASKS, methods, values])
    fewest = int(seeds.reindex(wanted, fill_value=0).min())
    if fewest >= PAPER_SEEDS:
        return []
    return [f"{counted(fewest, 'seed')} of {PAPER_SEEDS} were run in some cell"]


def memory_shrinks_four_times(sizes: pd.DataFrame, layers: pd.DataFrame) -> Verdict:
    """rl-memory-4x (Table 1): see CRITERIA. sizes, layers: of the same stacks."""
    obstacles = [] if at_paper_widths(layers) else ["no sizes were measured at the paper's widths"]
    if sizes.empty:
        obstacles.append("no size was measured")
    at_sparsity = sizes[(sizes["sparsity_percent"] == SPARSITY) & (sizes["format"] == "coo")]
    obstacles += _few_seeds(at_sparsity, "network", NETWORKS, METHODS)
    dense = sizes[sizes["method"] == "dense"]
    obstacles += _few_seeds(dense, "format", ("dense", "coo"), ("dense",))
    failures, measured = [], []
    for network in NETWORKS:
        name, parts = label(NETWORK_LABELS, network), []
        for method in ("dense", *METHODS):
            ratios = _memory_ratios(sizes[sizes["network"] == network], method)
            case = "dense, sparsely indexed" if method == "dense" else label(METHOD_LABELS, method)
            if ratios.empty:
                obstacles.append(f"{case}: the {name} was not stored")
                continue
            low, high = FIVE_TIMES if method == "dense" else FOUR_TIMES
            word = "larger" if method == "dense" else "smaller"
            spread = dict.fromkeys(f"{end:.2f}" for end in (ratios.min(), ratios.max()))
            text = f"{' to '.join(spread)}{TIMES} {word}"
            parts.append(f"{case} {text}")
            if not (low <= ratios.min() and ratios.max() <= high):
                failures.append(f"{name}, {case}: {text}, not {low} to {high}")
        measured.append(f"{name}: {', '.join(parts)}")
    return decide(
        "rl-memory-4x",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="each figure is the range over tasks and seeds",
    )


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


def sparse_inference_is_faster(latency: pd.DataFrame, layers: pd.DataFrame) -> Verdict:
    """rl-sparse-inference (Sections 5 and 6): see CRITERIA. layers: of the networks timed."""
    long = latency_long(latency, scale="")
    rows = long[(long["sparsity_percent"] == SPARSITY) & ~is_dense_kernel(long["kernel"])]
    obstacles = [] if at_paper_widths(layers) else ["no network of the paper's widths was timed"]
    of_actor = long[(long["part"] == "actor") & (long["batch"] == 1)]
    missing = [name for name in DENSE_KERNELS if name not in set(of_actor["kernel"])]
    if missing:
        obstacles.append(f"{', '.join(missing)} was not timed")
    if len(of_actor) and of_actor["repeats"].min() < ENOUGH_ROUNDS:
        rounds = counted(int(of_actor["repeats"].min()), "round")
        obstacles.append(f"{rounds} of {ENOUGH_ROUNDS} were timed")
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
    if not ranges:
        obstacles.append(f"the actor was not timed at batch 1 and {SPARSITY}% sparsity")
    return decide(
        "rl-sparse-inference",
        obstacles=obstacles,
        failures=failures,
        measured="Speed against the fastest dense kernel: " + "; ".join(measured),
        interval="; ".join(ranges),
    )
