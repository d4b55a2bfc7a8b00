"""Facts of a run of the offline-RL study, predicted and found, and the data that claims compare.

The claims are about the paper's tasks, whatever else was run.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from triptych.rl.methods import CRITERIA
from triptych.rl.report.inference import is_dense_kernel, latency_long
from triptych.rl.report.scores import (
    RUN,
    default_pruning,
    last_policies,
    run_scores,
    with_observations,
)
from triptych.rl.report.small_data import small_facts, small_scores
from triptych.rl.tasks.config import data_source
from triptych.rl.tasks.sweep import DEFAULT, algorithms_of, runs_of

METHODS = ("snip", "grasp")
SHUFFLED = {"snip": "shuffled", "grasp": "shuffled_grasp"}
TASKS = ("hopper", "walker2d", "halfcheetah")
NETWORKS = ("actor", "critic", "vae")
GROUPS = ("actor", "critic", "decoder")
SPARSITY = 95
SPARSITIES = (10, 30, 50, 70, 80, 90, 95)
"""The paper's, in percent."""
PAPER_SEEDS = 5
OF_SCORES = ("BC", "BCQ")
"""Algorithms whose scores the claims compare."""
UPDATES = ("BC update", "BCQ update")
"""Parts of the latencies that are no acting but training."""
PAPER_WIDTHS = ([400, 300], [400, 300], 750)
"""Hidden units of actor, critic and VAE (sfujim/BCQ's)."""
PAPER_LAYERS = {("actor", "l2"): 120_000, ("critic", "l2"): 120_000, ("vae", "d2"): 562_500}
"""Weights of hidden-to-hidden layers alone: they follow from the widths, whatever the task."""
MILLION = 1_000_000
"""Transitions of a task that somebody else recorded; D4RL's have as many."""


@dataclass(frozen=True)
class Run:
    """Data that the claims compare.

    scores: as `run_scores` returns them, on the usual observations; seen: on both. layers, sizes:
    of the measured networks. latency: as `latency_long` returns it. small: as `small_scores`
    returns it. varied: scores by other prunings, whose settings are `variants`. behaviour:
    normalised score of the policy behind each task's data.
    """

    scores: pd.DataFrame
    seen: pd.DataFrame
    layers: pd.DataFrame
    sizes: pd.DataFrame
    latency: pd.DataFrame
    small: pd.DataFrame
    varied: pd.DataFrame
    variants: Mapping[str, Mapping[str, Any]]
    behaviour: Mapping[str, float]


def read_run(
    frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> tuple[Run, dict[str, Any]]:
    """The data that claims compare, and the facts of a run, from the files and settings that
    `Workflow.claims` names."""
    of = {name: frame[frame["task"].isin(TASKS)] for name, frame in frames.items()}
    kind = settings["observations"]
    scores, layers, sizes = (
        with_observations(of[name], kind) for name in ("scores", "layers", "sizes")
    )
    latency, data = latency_long(of["latency"], scale=""), of["datasets"]
    none = pd.DataFrame(columns=[*RUN, "trained_on", "score"])
    small = small_scores(of["small"]) if "small" in of else none
    varied = of.get("varied", of["scores"][:0])
    varied, variants = varied[varied["observations"] == kind], settings.get("variants", {})
    facts = {
        **_data_facts(dict(zip(data["task"], data["source"], strict=True)), data["transitions"]),
        **_mask_facts(layers, sizes),
        **_time_facts(latency),
        "small data": small_facts(small),
        "other prunings": _other_prunings(varied[RUN].drop_duplicates(), variants),
        "precision": settings.get("became", {}).get("rl_train") or {settings["precision"]},
        "measured widths": at_paper_widths(layers),
    }
    for name in OF_SCORES:
        cells = scores[scores["algorithm"] == name]
        networks = of["trained_layers"]["networks"] == settings["networks"].get(name)
        episodes = last_policies(cells).groupby(RUN)["episode"].nunique()
        updates = cells.groupby(RUN[:-1])["update"].max()
        facts |= {
            f"{name} widths": at_paper_widths(of["trained_layers"][networks]),
            f"{name} updates": 0 if updates.empty else int(updates.min()),
            f"{name} episodes": 0 if episodes.empty else int(episodes.min()),
        }
    facts |= _seed_facts(default_pruning(of["scores"])[RUN].drop_duplicates(), kind)
    run = Run(
        scores=run_scores(scores),
        seen=run_scores(default_pruning(of["scores"])),
        layers=layers,
        sizes=sizes,
        latency=latency,
        small=small,
        varied=run_scores(varied),
        variants=variants,
        behaviour=dict(zip(data["task"].astype(str), data["score_normalised_mean"], strict=True)),
    )
    return run, facts


def planned_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a run that has not begun. config: the section `rl`."""
    runs = pd.DataFrame(runs_of(config))
    runs = runs[runs["task"].isin(TASKS)]
    varied, runs = (runs[(runs["pruning"] == DEFAULT) == usual] for usual in (False, True))
    small = runs[runs["max_transitions"].notna()].rename(columns={"max_transitions": "trained_on"})
    small["algorithm"] = [
        next(iter(algorithms_of(config, stack_name))) for stack_name in small["stack"]
    ]
    runs = runs[runs["max_transitions"].isna()]
    usual = runs["observations"] == config["observations"]
    trained, measured = runs[runs["trained"]], runs[~runs["trained"] & usual]
    cells = _by_algorithm(trained, config)
    tasks = {name: task for name, task in config["tasks"].items() if name in TASKS}
    paper_widths = [
        name
        for name, widths in config["widths"].items()
        if (widths["actor"], widths["critic"], widths["vae"]) == PAPER_WIDTHS
    ]
    evaluation, timing = config["evaluation"], config["latency"]
    # The workflow refuses a config that doesn't measure what is to be timed.
    timed = timing["task"] in TASKS and timing["sparsity"] == SPARSITY and 1 in timing["batches"]
    widths_of: dict[str, str] = {}
    for sweep in config["sweeps"].values():
        widths_of |= dict.fromkeys(sweep["algorithms"], sweep["widths"])
    facts = {
        **_data_facts({n: data_source(task) for n, task in tasks.items()}, len(tasks) * [MILLION]),
        **_seed_facts(cells[RUN], config["observations"]),
        "mask seeds": _fewest(measured, METHODS),
        "size seeds": _fewest(measured, ("dense", *METHODS)),
        "small data": small_facts(small),
        "other prunings": _other_prunings(
            _by_algorithm(varied[varied["observations"] == config["observations"]], config),
            config["pruning"]["variants"],
        ),
        "precision": {config["training"]["precision"]},
        "measured widths": config["mask_statistics"]["widths"] in paper_widths,
        "actor timed": timed,
        "updates timed": set(UPDATES) if timed else set(),
        "rounds": timing["repeats"],
    }
    for name in OF_SCORES:
        is_trained = name in widths_of
        facts |= {
            f"{name} widths": widths_of.get(name) in paper_widths,
            f"{name} updates": config["training"]["updates"] if is_trained else 0,
            f"{name} episodes": evaluation["final_episodes"] if is_trained else 0,
        }
    return facts


def _by_algorithm(runs: pd.DataFrame, config: Mapping[str, Any]) -> pd.DataFrame:
    """Trained runs, a row for each algorithm that is scored from a run."""
    rows = [(s, name) for s in runs["stack"].unique() for name in algorithms_of(config, s)]
    return runs.merge(pd.DataFrame(rows, columns=["stack", "algorithm"]), on="stack")


def _other_prunings(cells: pd.DataFrame, variants: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Which of batch and iterations BC was pruned with otherwise, with PAPER_SEEDS seeds of every
    task and method. cells: a row a run, with its `pruning`."""
    found = set()
    for name, settings in variants.items():
        chosen = cells[(cells["pruning"] == name) & (cells["algorithm"] == "BC")]
        if _fewest(chosen, METHODS) < PAPER_SEEDS:
            continue
        found |= {"iterations"} & settings.keys()
        if {CRITERIA[method].batch for method in METHODS} <= settings.keys():
            found.add("batch")
    return found


def _data_facts(sources: Mapping[str, str], transitions: Collection[int]) -> dict[str, Any]:
    """Where each task's data come from, and the fewest transitions of those that are D4RL's."""
    both = zip(sources.values(), transitions, strict=True)
    return {
        "tasks": set(sources),
        "data": set(sources.values()),
        "transitions": min((int(n) for source, n in both if source == "d4rl"), default=MILLION),
    }


def _seed_facts(cells: pd.DataFrame, usual: str) -> dict[str, Any]:
    """Fewest seeds of any cell by algorithm; which pairs of task and method BC was trained for
    on raw and on normalised observations, and beside their shuffled masks. cells: a row a run."""
    chosen = cells[cells["sparsity_percent"].isin([0, SPARSITY])]
    seeds = {
        key: set(rows)
        for key, rows in chosen.groupby(["algorithm", "observations", "task", "method"])["seed"]
    }

    def of(task: str, method: str, kind: str = usual, algorithm: str = "BC") -> set[int]:
        return seeds.get((algorithm, kind, task, method), set())

    pairs = [(task, method) for task in TASKS for method in METHODS]
    both = {
        f"{task} {method}"
        for task, method in pairs
        if set.intersection(
            *(of(task, each, kind) for each in (method, "dense") for kind in ("normalised", "raw"))
        )
    }
    shuffled = {f"{t} {m}" for t, m in pairs if of(t, m) & of(t, SHUFFLED[m])}
    columns = ["algorithm", "sparsity_percent", "task", "method"]
    counts = cells[cells["observations"] == usual].groupby(columns)["seed"].nunique()
    levels = {
        f"{name} {level}"
        for name, level in product(OF_SCORES, SPARSITIES)
        if min(counts.get((name, level, *pair), 0) for pair in pairs) >= PAPER_SEEDS
    }
    return {"both ways": both, "shuffled": shuffled, "levels": levels} | {
        f"{name} seeds": min(
            len(of(task, method, algorithm=name))
            for task in TASKS
            for method in ("dense", *METHODS)
        )
        for name in OF_SCORES
    }


def _mask_facts(layers: pd.DataFrame, sizes: pd.DataFrame) -> dict[str, Any]:
    """Seeds and layers of the masks at SPARSITY, and seeds of the files."""
    masks = layers[(layers["sparsity_percent"] == SPARSITY) & layers["method"].isin(METHODS)]
    pruned = (sizes["sparsity_percent"] == SPARSITY) & (sizes["format"] == "coo")
    dense = sizes["method"] == "dense"
    return {
        "mask seeds": min(_fewest(masks[masks["group"] == each], METHODS) for each in GROUPS),
        "mask layers": set(masks["network"] + " " + masks["layer"]),
        "size seeds": min(
            _fewest(sizes[which & (sizes["network"] == network)], methods)
            for which, methods in (
                (pruned, METHODS),
                *((dense & (sizes["format"] == each), ("dense",)) for each in ("dense", "coo")),
            )
            for network in NETWORKS
        ),
    }


def _fewest(rows: pd.DataFrame, methods: Collection[str]) -> int:
    """The fewest seeds of any task and method at SPARSITY, or dense."""
    chosen = rows[rows["sparsity_percent"].isin([0, SPARSITY])]
    seeds = chosen.groupby(["task", "method"])["seed"].nunique()
    expected = pd.MultiIndex.from_product([TASKS, methods])
    return int(seeds.reindex(expected, fill_value=0).min())


def _time_facts(latency: pd.DataFrame) -> dict[str, Any]:
    """Kernels and rounds of the actor at batch 1, and which updates were timed.

    latency: as `latency_long` returns it.
    """
    actor = latency[(latency["part"] == "actor") & (latency["batch"] == 1)]
    sparse = actor[(actor["sparsity_percent"] == SPARSITY) & ~is_dense_kernel(actor["kernel"])]
    updates = latency[latency["part"].isin(UPDATES) & ~is_dense_kernel(latency["kernel"])]
    updates = updates[updates["sparsity_percent"] == SPARSITY]
    return {
        "kernels": set(actor["kernel"]),
        "rounds": int(actor["repeats"].min()) if len(actor) else 0,
        "actor timed": bool(sparse["speedup"].notna().any()),
        "updates timed": set(updates.loc[updates["speedup"].notna(), "part"]),
    }


def at_paper_widths(layers: pd.DataFrame) -> bool:
    """Whether all layers listed belong to networks of 400-300 (actor, critic) and 750-750 (VAE)."""
    return all(
        set(layers.loc[(layers["network"] == network) & (layers["layer"] == layer), "weights"])
        == {weights}
        for (network, layer), weights in PAPER_LAYERS.items()
    )
