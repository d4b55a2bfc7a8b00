"""Claims on pruned networks: masks, bytes and times; and what all claims of offline RL share.

The claims are about the paper's tasks, whatever else was run.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import pandas as pd

from triptych.core.config import read_yaml
from triptych.core.provenance import SOURCE
from triptych.report.claims import ENOUGH_DATA, Finding, Need, all_of, at_least, claim, one_of
from triptych.report.palette import label
from triptych.report.statistics import difference_interval, mean_interval
from triptych.report.tables import TIMES
from triptych.rl.methods import DENSE
from triptych.rl.report.inference import CASE, is_dense_kernel, latency_long, part_label
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS
from triptych.rl.report.scores import default_pruning, run_scores, with_observations
from triptych.rl.tasks.config import data_source
from triptych.rl.tasks.sweep import DEFAULT

PAPER = read_yaml(SOURCE / "config/paper/rl.yaml")["rl"]
"""The paper's values, as config/paper/rl.yaml has them."""
TASKS = tuple(PAPER["tasks"])
METHODS = tuple(PAPER["sweeps"]["bcq"]["runs"]["paper"]["methods"])
PAIRS = [*product(TASKS, METHODS)]
SPARSITY = PAPER["shown_sparsity"]
"""In percent."""
SEEDS = len(PAPER["sweeps"]["bcq"]["seeds"])
MASK_SEEDS = len(PAPER["mask_statistics"]["seeds"])
WIDTHS = PAPER["widths"]["paper"]
"""Hidden units of actor, critic and VAE."""
SOURCES = ("d4rl",)
MILLION = 1_000_000
"""Transitions that D4RL has of a task."""
ROUNDS = 5
ACTED = ("actor", 1)
"""Part and batch whose time the paper promises."""
UPDATES = ("BC update", "BCQ update")
"""Parts of the latencies that are no acting but training."""
DENSE_KERNELS = ("numpy dense", "torch dense")
GROUPS = ("actor", "critic", "decoder")
DEPTHS = 3
"""Layers of a network; twin critics are counted one after the other, l1 to l6."""
LAYERS = [
    *(f"actor l{n + 1}" for n in range(DEPTHS)),
    *(f"critic l{n + 1}" for n in range(2 * DEPTHS)),
    *(f"vae d{n + 1}" for n in range(DEPTHS)),
]
"""Layers among which the last one must keep most."""
FOUR_TIMES = (3.5, 4.5)
FIVE_TIMES = (4.5, 5.5)
AGREEMENT = 1e-6
FASTER = 1.0
FASTER_TRAINING = 2.5

Rows = Iterable[Mapping[Any, Any]]
"""Runs of the experiment table, or rows of a result."""


@dataclass(frozen=True)
class Tables:
    """Data that the claims compare.

    scores: as `run_scores` returns them, on the usual observations; seen: on both; varied: with
    those by other prunings, whose settings are `variants`; small: on few transitions. layers,
    sizes: of the measured networks. latency: as `latency_long` returns it. behaviour: normalised
    score of the policy behind each task's data. transitions: of each task of D4RL's. precisions:
    those that rl_train chose, empty where the config says it.
    """

    scores: pd.DataFrame
    seen: pd.DataFrame
    varied: pd.DataFrame
    small: pd.DataFrame
    layers: pd.DataFrame
    sizes: pd.DataFrame
    latency: pd.DataFrame
    behaviour: Mapping[str, float]
    transitions: Collection[int]
    variants: Mapping[str, Mapping[str, Any]]
    precisions: Collection[str]


def tables_of(
    frames: Mapping[str, pd.DataFrame], plan: Any, became: Mapping[str, Collection[str]]
) -> Tables:
    """The data of a run, from the files that `Workflow.claims` names, of the paper's tasks alone.

    plan: the Workflow of its config. became: precisions that its jobs chose, by rule.
    """
    of = {name: frame[frame["task"].isin(TASKS)] for name, frame in frames.items()}
    kind, data = plan.config["observations"], of["datasets"].set_index("task")
    runs = run_scores(pd.concat([of["scores"], of.get("varied")]))
    none = runs.iloc[:0].assign(trained_on=0)
    return Tables(
        scores=with_observations(runs, kind),
        seen=default_pruning(runs),
        varied=runs[runs["observations"] == kind],
        small=run_scores(of["small"]) if "small" in of else none,
        layers=with_observations(of["layers"], kind),
        sizes=with_observations(of["sizes"], kind),
        latency=latency_long(of["latency"], scale=""),
        behaviour=dict(zip(map(str, data.index), data["score_normalised_mean"], strict=True)),
        transitions=data.loc[data["source"].isin(SOURCES), "transitions"].tolist(),
        variants=plan.variants,
        precisions=became.get("rl_train", ()),
    )


# What claims need, of a study's Workflow.


def has_data(plan: Any) -> Iterator[Need]:
    """Need the paper's tasks, and its data."""
    tasks = {name: task for name, task in plan.config["tasks"].items() if name in TASKS}
    yield all_of("data of all three tasks", tasks, TASKS)
    sources = map(data_source, tasks.values())
    yield one_of("D4RL's expert data", sources, SOURCES, substitute="other experts' data")


def has_transitions(substitute: str = "", found: Collection[int] = ()) -> Need:
    """Need all transitions of D4RL's data. found: those of each task, once a run knows them."""
    fewest, enough = min([MILLION, *found]), ENOUGH_DATA * MILLION
    return at_least("D4RL's million transitions", int(fewest), enough, substitute)


def is_wide(plan: Any, runs: Rows, substitute: str = "") -> Need:
    """Need runs, all of networks as wide as the paper's."""
    widths = [plan.config["widths"][name] for name in {run["networks"] for run in runs}]
    wide = bool(widths) and all(own == WIDTHS for own in widths)
    return Need("networks of the paper's widths", wide, substitute=substitute)


def seeds_of(runs: Rows, level: float) -> defaultdict[tuple[str, str], set[int]]:
    """Seeds by task and method at a sparsity (percent), or dense."""
    seeds = defaultdict(set)
    for run in runs:
        if run["sparsity_percent"] in (0, level):
            seeds[run["task"], run["method"]].add(run["seed"])
    return seeds


def has_seeds(what: str, runs: Rows, methods: Iterable[str], least: int) -> Need:
    """Need as many seeds of every task and method."""
    seeds = seeds_of(runs, SPARSITY)
    return at_least(what, min(len(seeds[cell]) for cell in product(TASKS, methods)), least)


def _measured(plan: Any) -> list[Any]:
    runs: list[Any] = plan.measured(pruning=DEFAULT)
    return runs


def _masks(plan: Any) -> Iterator[Need]:
    """Needs of each claim on masks."""
    runs = _measured(plan)
    yield from has_data(plan)
    yield has_transitions()
    yield is_wide(plan, runs)
    yield has_seeds(f"masks of {MASK_SEEDS} seeds", runs, METHODS, MASK_SEEDS)
    yield _has_layers(LAYERS)


def _has_layers(found: Collection[str]) -> Need:
    return all_of(f"all layers of {', '.join(GROUPS)}", found, LAYERS)


def _sizes(plan: Any) -> Iterator[Need]:
    runs, what = _measured(plan), f"files of {MASK_SEEDS} seeds of every task"
    yield is_wide(plan, runs)
    yield has_seeds(what, runs, (DENSE, *METHODS), MASK_SEEDS)


def _times(plan: Any, training: bool) -> Iterator[Need]:
    """Needs of each claim on times."""
    latency = plan.config["latency"]
    timed = latency["task"] in TASKS and latency["sparsity"] == SPARSITY
    timed = timed and ACTED[1] in latency["batches"]
    yield is_wide(plan, _measured(plan))
    yield from _was_timed(training, {ACTED[0], *UPDATES} if timed else set(), DENSE_KERNELS)
    yield at_least(f"{ROUNDS} rounds of timing", latency["repeats"], ROUNDS)


def _was_timed(training: bool, parts: Collection[str], kernels: Collection[str]) -> list[Need]:
    """Need the parts that a claim compares, and the actor's kernels."""
    if training:
        return [all_of(f"updates timed at {SPARSITY}% sparsity", parts, UPDATES)]
    part, batch = ACTED
    return [
        Need(f"the {part} timed at batch {batch} and {SPARSITY}% sparsity", part in parts),
        all_of("NumPy's and PyTorch's dense kernels", kernels, DENSE_KERNELS),
    ]


# Claims.


@claim("rl-last-layer", needs=_masks)
def last_layer_keeps_most(tables: Tables) -> Finding:
    """In the masks of actor, critic and decoder at {SPARSITY}% sparsity, on every task, the last
    layer keeps a larger mean share of its weights than any other layer with both methods, and the
    95% interval of GraSP minus SNIP (seeds paired) of that share lies above 0. Twin critics count
    together."""
    found = Finding(heading="Share of the last layer kept: ", needs=_masks_found(tables))
    names: Any
    for names, shares in _shares_by_depth(tables.layers).groupby(["group", "task"]):
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


@claim("rl-similar-pattern", needs=_masks)
def patterns_are_alike(tables: Tables) -> Finding:
    """In the masks of actor, critic and decoder at {SPARSITY}% sparsity, on every task, the same
    one of every two layers keeps the larger share of its weights with both methods: the 95%
    intervals (over seeds) of the difference of shares lie on one side of 0. Twin critics count
    together."""
    found, pairs = Finding(needs=_masks_found(tables)), 0
    every = _shares_by_depth(tables.layers)
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


def _masks_found(tables: Tables) -> list[Need]:
    layers = set(tables.layers["network"] + " " + tables.layers["layer"])
    return [has_transitions(found=tables.transitions), _has_layers(layers)]


def _shares_by_depth(layers: pd.DataFrame) -> pd.DataFrame:
    """Percent of their weights that layers keep at SPARSITY, by depth; a row a group, task, method
    and seed."""
    chosen = layers[(layers["sparsity_percent"] == SPARSITY) & layers["method"].isin(METHODS)]
    chosen = chosen[chosen["group"].isin(GROUPS)]
    # Twin critics are pooled: l1 and l4 are both the first.
    depth = ((chosen["layer"].str[-1].astype(int) - 1) % DEPTHS).rename("depth")
    sums = chosen.groupby(["group", "task", "method", "seed", depth])[["kept", "weights"]].sum()
    return 100 * (sums["kept"] / sums["weights"]).unstack("depth")


@claim("rl-memory-4x", needs=_sizes)
def memory_shrinks_four_times(tables: Tables) -> Finding:
    """For actor, critic and VAE: dense bytes over sparsely indexed bytes at {SPARSITY}% lie in
    {FOUR_TIMES[0]} to {FOUR_TIMES[1]} with both methods, and sparsely indexed dense bytes over
    dense bytes in {FIVE_TIMES[0]} to {FIVE_TIMES[1]}. Bytes follow from how many weights are kept,
    so any data will do."""
    found = Finding(interval="each figure is the range over tasks and seeds")
    sizes = tables.sizes[tables.sizes["sparsity_percent"].isin([0, SPARSITY])]
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


@claim("rl-sparse-inference", needs=lambda plan: _times(plan, training=False))
def sparse_kernels_act_faster(tables: Tables) -> Finding:
    """At {SPARSITY}% sparsity and batch {ACTED[1]} the fastest sparse kernel of the {ACTED[0]} has
    a lower median latency than the fastest dense kernel, with outputs equal to {AGREEMENT:g}. Time
    follows from how many weights are kept and from where they lie: the verdict is that of the mask
    of `rl.latency` (policy.c passes over strips of 16 zeros, so that the same mask shuffled took it
    1.7 times as long)."""
    return _sparse_kernels_are_faster(tables, training=False)


@claim("rl-ours-sparse-training", needs=lambda plan: _times(plan, training=True))
def sparse_kernels_train_faster(tables: Tables) -> Finding:
    """Ours, fixed before the run: at {SPARSITY}% sparsity, a network that is trained with its kept
    weights alone takes at least {FASTER_TRAINING:g} times as many updates a second as its dense
    twin (medians; one thread of a processor, float32, the references' batches of 100), with BC and
    with BCQ, and its losses are equal to {AGREEMENT:g}. The verdict is that of the mask of
    `rl.latency`."""
    return _sparse_kernels_are_faster(tables, training=True)


def _sparse_kernels_are_faster(tables: Tables, training: bool) -> Finding:
    """Times of the fastest sparse kernel against the fastest dense one (Sections 5 and 6): of
    updates, or of what acts, where ACTED alone is judged."""
    found, timed = Finding(heading="Speed against the fastest dense kernel: "), set()
    least = FASTER_TRAINING if training else FASTER
    long = tables.latency[tables.latency["sparsity_percent"] == SPARSITY]
    for _, kernels in long[long["part"].isin(UPDATES) == training].groupby(CASE, sort=False):
        dense = is_dense_kernel(kernels["kernel"])
        if not dense.any() or dense.all():
            continue
        best = kernels[~dense].sort_values("value").iloc[0]
        part, batch = best["part"], best["batch"]
        name = f"{part_label(part, best['candidates'])} at batch {batch}, "
        name += METHOD_LABELS[best["method"]]
        found.add(f"{name}: {best['kernel']} {best['speedup']:.2f}{TIMES}")
        if not training and (part, batch) != ACTED:
            continue
        timed |= {part, *kernels["kernel"]}
        ratio = kernels.loc[dense, "microseconds_minimum"].min() / best["microseconds_minimum"]
        found.add("", f"{name} by the minima of the repeats {ratio:.2f}{TIMES}")
        if not (best["speedup"] > FASTER and best["speedup"] >= least):
            found.failures.append(f"{name}: {best['speedup']:.2f} times as fast as dense")
        if best["maximum_difference"] > AGREEMENT:
            found.failures.append(f"{name}: outputs differ by {best['maximum_difference']:.1e}")
    found.needs += _was_timed(training, timed, timed)
    return found
