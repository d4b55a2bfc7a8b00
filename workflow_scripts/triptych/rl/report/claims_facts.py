"""Facts of a run of the offline-RL study, predicted and found, and the data that claims compare.

The claims are about the paper's tasks, whatever else was run.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from triptych.rl.methods import CRITERIA, DENSE, OBSERVATIONS
from triptych.rl.report.inference import is_dense_kernel, latency_long
from triptych.rl.report.scores import (
    RUN,
    default_pruning,
    last_policies,
    run_scores,
    with_observations,
)
from triptych.rl.tasks.config import data_source
from triptych.rl.tasks.sweep import algorithms_of, runs_of

METHODS = ("snip", "grasp")
SHUFFLED = {"snip": "shuffled", "grasp": "shuffled_grasp"}
TASKS = ("hopper", "walker2d", "halfcheetah")
PAIRS = [*product(TASKS, METHODS)]
GROUPS = ("actor", "critic", "decoder")
SPARSITY = 95
SPARSITIES = (10, 30, 50, 70, 80, 90, 95)
"""The paper's, in percent."""
PAPER_SEEDS = 5
OF_SCORES = ("BC", "BCQ")
"""Algorithms whose scores the claims compare."""
UPDATES = ("BC update", "BCQ update")
"""Parts of the latencies that are no acting but training."""
FEW = 10_000
"""The most transitions that the claim on few data calls few."""
SMALL_ALGORITHMS = ("TD3+BC", "IQL")
"""Those of that claim, as in later work of the paper's first author (arXiv 2506.17155)."""
PAPER_WIDTHS = ([400, 300], [400, 300], 750)
"""Hidden units of actor, critic and VAE (sfujim/BCQ's)."""
PAPER_LAYERS = {("actor", "l2"): 120_000, ("critic", "l2"): 120_000, ("vae", "d2"): 562_500}
"""Weights of hidden-to-hidden layers alone: they follow from the widths, whatever the task."""
MILLION = 1_000_000
"""Transitions of a task that somebody else recorded; D4RL's have as many."""


@dataclass(frozen=True)
class Run:
    """Data that the claims compare.

    scores: as `run_scores` returns them, on the usual observations; seen: on both; varied: with
    those by other prunings, whose settings are `variants`; small: on few transitions. layers,
    sizes: of the measured networks. latency: as `latency_long` returns it. behaviour: normalised
    score of the policy behind each task's data.
    """

    scores: pd.DataFrame
    seen: pd.DataFrame
    varied: pd.DataFrame
    small: pd.DataFrame
    layers: pd.DataFrame
    sizes: pd.DataFrame
    latency: pd.DataFrame
    variants: Mapping[str, Mapping[str, Any]]
    behaviour: Mapping[str, float]


def read_run(
    frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> tuple[Run, dict[str, Any]]:
    """The data that claims compare, and the facts of a run, from the files and settings that
    `Workflow.claims` names."""
    of = {name: frame[frame["task"].isin(TASKS)] for name, frame in frames.items()}
    kind, data = settings["observations"], of["datasets"]
    layers, sizes = (with_observations(of[name], kind) for name in ("layers", "sizes"))
    evaluations = pd.concat([of["scores"], of.get("varied")])
    runs = run_scores(evaluations)
    none = pd.DataFrame(columns=[*RUN, "trained_on", "score"])
    run = Run(
        scores=with_observations(runs, kind),
        seen=default_pruning(runs),
        varied=runs[runs["observations"] == kind],
        small=run_scores(of["small"]) if "small" in of else none,
        layers=layers,
        sizes=sizes,
        latency=latency_long(of["latency"], scale=""),
        variants=settings["variants"],
        behaviour=dict(zip(data["task"].astype(str), data["score_normalised_mean"], strict=True)),
    )
    last = last_policies(evaluations).groupby(RUN, as_index=False)
    trained = last.agg(updates=("update", "max"), episodes=("episode", "nunique"))
    networks = of["trained_layers"]["networks"]
    wide = {
        name
        for name in OF_SCORES
        if at_paper_widths(of["trained_layers"][networks == settings["networks"].get(name)])
    }
    return run, {
        **_data_facts(data),
        **_training_facts(trained, wide, kind, run.variants),
        **_time_facts(run.latency),
        "mask seeds": _fewest(layers, METHODS),
        "mask layers": set(layers["network"] + " " + layers["layer"]),
        "size seeds": _fewest(sizes, (DENSE, *METHODS)),
        "small data": small_facts(run.small),
        "precision": settings.get("became", {}).get("rl_train") or {settings["precision"]},
        "measured widths": at_paper_widths(layers),
    }


def planned_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a run that has not begun. config: the section `rl`."""
    runs, kind = pd.DataFrame(runs_of(config)), config["observations"]
    runs = runs[runs["task"].isin(TASKS)]
    trained = runs[runs["trained"]]
    algorithms = [
        (stack, name) for stack in set(trained["stack"]) for name in algorithms_of(config, stack)
    ]
    trained = trained.merge(pd.DataFrame(algorithms, columns=["stack", "algorithm"]), on="stack")
    few = trained["max_transitions"].notna()
    measured = with_observations(runs[~runs["trained"]], kind)
    timing, variants = config["latency"], config["pruning"]["variants"]
    sources = {n: data_source(task) for n, task in config["tasks"].items() if n in TASKS}
    data = pd.DataFrame(sources.items(), columns=["task", "source"]).assign(transitions=MILLION)
    trained = trained.assign(
        updates=config["training"]["updates"], episodes=config["evaluation"]["final_episodes"]
    )
    paper_widths = [
        name
        for name, widths in config["widths"].items()
        if (widths["actor"], widths["critic"], widths["vae"]) == PAPER_WIDTHS
    ]
    wide = set(trained.loc[trained["networks"].isin(paper_widths), "algorithm"])
    # The workflow refuses a config that doesn't measure what is to be timed.
    timed = timing["task"] in TASKS and timing["sparsity"] == SPARSITY and 1 in timing["batches"]
    return {
        **_data_facts(data),
        **_training_facts(trained[~few], wide, kind, variants),
        "mask seeds": _fewest(measured, METHODS),
        "size seeds": _fewest(measured, (DENSE, *METHODS)),
        "small data": small_facts(trained[few].rename(columns={"max_transitions": "trained_on"})),
        "precision": {config["training"]["precision"]},
        "measured widths": config["mask_statistics"]["widths"] in paper_widths,
        "actor timed": timed,
        "updates timed": set(UPDATES) if timed else set(),
        "rounds": timing["repeats"],
    }


def _data_facts(data: pd.DataFrame) -> dict[str, Any]:
    """Where each task's data come from, and the fewest transitions of those that are D4RL's.

    data: task, source, transitions.
    """
    d4rl = data.loc[data["source"] == "d4rl", "transitions"]
    return {
        "tasks": set(data["task"]),
        "data": set(data["source"]),
        "transitions": int(min([MILLION, *d4rl])),
    }


def _training_facts(
    trained: pd.DataFrame,
    wide: Collection[str],
    observations: str,
    variants: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Seeds, levels, length, evaluation and widths of the trained runs, and what else was trained.

    trained: a row a run: RUN, updates, episodes (of its last evaluation). wide: algorithms
    whose networks have the paper's widths. observations: the usual ones. variants: settings of the
    prunings beside the default.
    """
    usual = with_observations(trained, observations)
    facts: dict[str, Any] = {"levels": set()}
    for name in OF_SCORES:
        runs = usual[usual["algorithm"] == name]
        facts |= {
            f"{name} seeds": _fewest(runs, (DENSE, *METHODS)),
            f"{name} widths": name in wide,
            f"{name} updates": int(runs["updates"].min()) if len(runs) else 0,
            f"{name} episodes": int(runs["episodes"].min()) if len(runs) else 0,
        }
        facts["levels"] |= {
            f"{name} {level}"
            for level in SPARSITIES
            if _fewest(runs, METHODS, level) >= PAPER_SEEDS
        }
    bc = trained[(trained["algorithm"] == "BC") & trained["sparsity_percent"].isin([0, SPARSITY])]
    varied = bc[bc["observations"] == observations]
    whole = [
        settings
        for name, settings in variants.items()
        if _fewest(varied[varied["pruning"] == name], METHODS) >= PAPER_SEEDS
    ]
    changed = {
        "batch": {CRITERIA[method].batch for method in METHODS},
        "iterations": {"iterations"},
    }
    seeds = default_pruning(bc).groupby(["observations", "task", "method"])["seed"].agg(set)

    def share_a_seed(*cells: tuple[str, str, str]) -> bool:
        return bool(set.intersection(*(seeds.get(cell, set()) for cell in cells)))

    return facts | {
        "both ways": {
            f"{task} {method}"
            for task, method in PAIRS
            if share_a_seed(*product(OBSERVATIONS, [task], [method, DENSE]))
        },
        "shuffled": {
            f"{task} {method}"
            for task, method in PAIRS
            if share_a_seed(*product([observations], [task], [method, SHUFFLED[method]]))
        },
        "other prunings": {
            name for name, keys in changed.items() if any(keys <= own.keys() for own in whole)
        },
    }


def _fewest(runs: pd.DataFrame, methods: Collection[str], level: int = SPARSITY) -> int:
    """The fewest seeds of any task and method at a sparsity (percent), or dense."""
    chosen = runs[runs["sparsity_percent"].isin([0, level])]
    seeds = chosen.groupby(["task", "method"])["seed"].nunique()
    expected = pd.MultiIndex.from_product([TASKS, methods])
    return int(seeds.reindex(expected, fill_value=0).min())


def _time_facts(latency: pd.DataFrame) -> dict[str, Any]:
    """Kernels and rounds of the actor at batch 1, and which updates were timed.

    latency: as `latency_long` returns it.
    """
    actor = latency[(latency["part"] == "actor") & (latency["batch"] == 1)]
    sparse = latency[(latency["sparsity_percent"] == SPARSITY) & latency["speedup"].notna()]
    sparse = sparse[~is_dense_kernel(sparse["kernel"])]
    return {
        "kernels": set(actor["kernel"]),
        "rounds": int(actor["repeats"].min()) if len(actor) else 0,
        "actor timed": bool(sparse.index.isin(actor.index).any()),
        "updates timed": set(sparse["part"]) & set(UPDATES),
    }


def small_facts(runs: pd.DataFrame) -> set[str]:
    """Algorithm and task of the runs on few transitions, dense and by SNIP, of one seed or more.

    runs: algorithm, task, method, trained_on.
    """
    few = runs[(runs["trained_on"] <= FEW) & runs["method"].isin([DENSE, "snip"])]
    both = few.groupby(["algorithm", "task"])["method"].nunique() == 2
    return {f"{algorithm} {task}" for algorithm, task in both.index[both]}


def at_paper_widths(layers: pd.DataFrame) -> bool:
    """Whether all layers listed belong to networks of 400-300 (actor, critic) and 750-750 (VAE)."""
    return all(
        set(layers.loc[(layers["network"] == network) & (layers["layer"] == layer), "weights"])
        == {weights}
        for (network, layer), weights in PAPER_LAYERS.items()
    )
