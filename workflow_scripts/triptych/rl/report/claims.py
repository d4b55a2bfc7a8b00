"""The claims of the offline-RL paper, each with a criterion fixed before any result was seen.

Whether a claim can be tested follows from what was run (`Conditions`), read from the data
themselves and never from the name of a configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from triptych.core.statistics import Interval
from triptych.report.palette import label
from triptych.report.verdicts import Verdict, decide, few_data, other_precision
from triptych.rl.report.labels import METHOD_LABELS, TASK_LABELS
from triptych.rl.report.scores import RUN, ratio_to_dense, seed_scores

METHODS = ("snip", "grasp")
TASKS = ("hopper", "walker2d", "halfcheetah")
NETWORKS = ("actor", "critic", "vae")
SPARSITY = 95
KEEPS = 0.9
LEARNED = 0.9
STEADY = 15
LEARNING_TASKS = 2
PAPER_SEEDS = 5
ENOUGH_EPISODES = 10
PAPER_TRANSITIONS = 1_000_000
ENOUGH_UPDATES = 100_000
PRECISIONS = ("float32", "tf32")
FOUR_TIMES = (3.5, 4.5)
FIVE_TIMES = (4.5, 5.5)
AGREEMENT = 1e-6
ENOUGH_ROUNDS = 5
DENSE_KERNELS = ("numpy dense", "torch dense")

# The hidden-to-hidden layers alone: their shape is the widths and does not depend on the task.
PAPER_LAYERS = {
    ("actor", "l2"): 120_000,
    ("critic", "l2"): 120_000,
    ("vae", "d2"): 562_500,
}

_NEEDS = f"Needs {PAPER_SEEDS} seeds and {ENOUGH_EPISODES} episodes behind each run's score."
_SCORES = (
    f"Needs {PAPER_SEEDS} seeds, {ENOUGH_EPISODES} episodes behind each run's score, and on at "
    f"least {LEARNING_TASKS} tasks dense policies that reach {LEARNED:.0%} of the data's policy "
    f"within {STEADY} points of each other; only such tasks are judged. It counts with "
    f"{ENOUGH_UPDATES:,} updates of the paper's networks in float32 or TF32 and the "
    f"{PAPER_TRANSITIONS:,} transitions of D4RL's expert data on all three tasks; else it is seen "
    "on other data."
)

CRITERIA = {
    "rl-bc-95": (
        f"BC keeps its score where the lower end of the 95% interval (seeds paired) of "
        f"the ratio to dense is at least {KEEPS}; required on all three tasks with both methods. "
        f"{_SCORES}"
    ),
    "rl-bcq-95": (
        f"On HalfCheetah and Walker2d the lower end of the 95% interval of the ratio to "
        f"dense is at least {KEEPS} with both methods; on Hopper, with both, the ratio is below "
        f"{KEEPS} and the upper end of its interval below 1. {_SCORES}"
    ),
    "rl-last-layer": (
        f"In the masks of actor, critic and decoder at {SPARSITY}% sparsity, on every task, the "
        "last layer keeps a larger mean share of its weights than any other layer with both "
        "methods, and the 95% interval of GraSP minus SNIP (seeds paired) of that share "
        f"lies above 0. Twin critics count together. Needs the paper's widths, {PAPER_SEEDS} seeds "
        "and D4RL's expert data: masks of other data are seen and not counted."
    ),
    "rl-memory-4x": (
        f"For actor, critic and VAE: dense bytes over sparsely indexed bytes at {SPARSITY}% lie in "
        f"{FOUR_TIMES[0]} to {FOUR_TIMES[1]} with both methods, and sparsely indexed dense bytes "
        f"over dense bytes in {FIVE_TIMES[0]} to {FIVE_TIMES[1]}. Needs the paper's widths, all "
        f"three tasks and {PAPER_SEEDS} seeds; bytes follow from how many weights are kept, so any "
        "data will do."
    ),
    "rl-sparse-inference": (
        f"At {SPARSITY}% sparsity and batch 1 the fastest sparse kernel of the actor has a lower "
        f"median latency than the fastest dense kernel, with outputs equal to {AGREEMENT:g}. Needs "
        f"the paper's widths, NumPy's and PyTorch's dense kernels and {ENOUGH_ROUNDS} rounds; time "
        "follows from how many weights are kept, so any data will do."
    ),
    "rl-ours-sensors": (
        f"Ours, fixed after trials of two seeds and before the run of five: with BC at {SPARSITY}% "
        "sparsity, on all three tasks and with both methods, normalised observations gain more "
        "score than they gain the dense network: the 95% interval of the difference of the gains "
        f"(seeds paired) lies above 0. {_NEEDS}"
    ),
    "rl-ours-shuffled": (
        f"Ours, fixed before the run: with BC at {SPARSITY}% sparsity, SNIP and GraSP each score "
        "more than their own mask shuffled within its layers: the probability of improvement over "
        "the three tasks has an interval above 0.5, and the difference of scores (seeds paired) "
        f"one above 0 on at least two of them. {_NEEDS}"
    ),
}


@dataclass(frozen=True)
class Conditions:
    """What the scores of a run were made under, as far as a claim depends on it.

    sources: where each task's data come from; d4rl is the expert-v2 file, collected and path are
    not. behaviour: normalised score of the policy that made each task's data. updates: gradient
    updates of the shortest run. seeds: the fewest seeds of any cell that a claim needs.
    transitions: of each task's data. episodes: the fewest behind any run's score.
    """

    sources: Mapping[str, str]
    behaviour: Mapping[str, float]
    paper_widths: bool
    updates: int
    seeds: int
    transitions: Mapping[str, int]
    episodes: int
    precision: str

    def obstacles(self) -> list[str]:
        """Why scores made under these conditions cannot test a claim on scores."""
        found = absent_tasks(self.sources)
        if self.episodes < ENOUGH_EPISODES:
            found.append(
                f"{counted(self.episodes, 'episode')} of {ENOUGH_EPISODES} made some run's score"
            )
        if self.seeds < PAPER_SEEDS:
            found.append(f"{counted(self.seeds, 'seed')} of {PAPER_SEEDS} were run in some cell")
        return found

    def departures(self) -> list[str]:
        """In what these conditions are not the paper's: what is then seen is seen elsewhere."""
        found = other_data(self.sources)
        for task in TASKS:
            if self.sources.get(task) == "d4rl":
                name = f"transitions of {label(TASK_LABELS, task)}"
                found += few_data(self.transitions[task], PAPER_TRANSITIONS, name)
        found += other_precision([self.precision], PRECISIONS)
        if not self.paper_widths:
            found.append("the networks are not as wide as the paper's")
        if self.updates < ENOUGH_UPDATES:
            found.append(f"{self.updates:,} updates were made, not at least {ENOUGH_UPDATES:,}")
        return found


def absent_tasks(sources: Mapping[str, str]) -> list[str]:
    """The paper's tasks without any data, as an obstacle."""
    absent = [label(TASK_LABELS, task) for task in TASKS if task not in sources]
    return [f"there are no data of {', '.join(absent)}"] if absent else []


def other_data(sources: Mapping[str, str]) -> list[str]:
    """Which tasks' data are not D4RL's."""
    other = [
        f"{label(TASK_LABELS, task)} {sources[task]}"
        for task in TASKS
        if sources.get(task, "d4rl") != "d4rl"
    ]
    if not other:
        return []
    return [f"these are not D4RL's expert data, which the claim is about ({', '.join(other)})"]


def task_sources(datasets: pd.DataFrame) -> dict[str, str]:
    """Where each task's data come from, by dataset.csv."""
    return dict(zip(datasets["task"].astype(str), datasets["source"].astype(str), strict=True))


def conditions(
    evaluations: pd.DataFrame,
    layers: pd.DataFrame,
    datasets: pd.DataFrame,
    precision: str,
    last_evaluations: int,
) -> Conditions:
    """Read the conditions of one algorithm's scores.

    evaluations: its rows of scores.csv. layers: rows of layers.csv of networks of its widths.
    datasets: rows of dataset.csv.
    """
    cells = evaluations[
        (evaluations["method"] == "dense")
        | (evaluations["method"].isin(METHODS) & (evaluations["sparsity_percent"] == SPARSITY))
    ]
    seeds = cells.groupby(["task", "method"])["seed"].nunique()
    wanted = pd.MultiIndex.from_product([TASKS, ("dense", *METHODS)])
    tasks = datasets["task"].astype(str)
    # No rows where no sweep trains the algorithm.
    run = ["task", "method", "sparsity_percent", "seed"]
    updates = evaluations.groupby(run)["update"].max()
    episodes = evaluations.groupby([*RUN, "update"])["episode"].nunique()
    return Conditions(
        sources=task_sources(datasets),
        behaviour=dict(zip(tasks, datasets["score_normalised_mean"], strict=True)),
        paper_widths=at_paper_widths(layers),
        updates=0 if updates.empty else int(updates.min()),
        seeds=int(seeds.reindex(wanted, fill_value=0).min()),
        transitions=dict(zip(tasks, datasets["transitions"].astype(int), strict=True)),
        episodes=last_evaluations * (0 if episodes.empty else int(episodes.min())),
        precision=precision,
    )


def at_paper_widths(layers: pd.DataFrame) -> bool:
    """Whether all layers listed belong to networks of 400-300 (actor, critic) and 750-750 (VAE)."""
    if layers.empty:
        return False
    for (network, layer), weights in PAPER_LAYERS.items():
        rows = layers[(layers["network"] == network) & (layers["layer"] == layer)]
        if rows.empty or set(rows["weights"]) != {weights}:
            return False
    return True


def bc_keeps_score(runs: pd.DataFrame, run: Conditions) -> Verdict:
    """rl-bc-95 (Figures 1 and 2): see CRITERIA. runs: as `run_scores` returns them."""
    unlearned = not_learned(runs, run, "BC")
    ratios = _ratios(runs, "BC", unlearned)
    failures = [f"{pair_name(key)} may lose score" for key, r in ratios.items() if not keeps(r)]
    return _score_verdict("rl-bc-95", run, unlearned, ratios, failures)


def bcq_keeps_score_but_on_hopper(runs: pd.DataFrame, run: Conditions) -> Verdict:
    """rl-bcq-95 (Figures 1 and 2): see CRITERIA. runs: as `run_scores` returns them."""
    unlearned = not_learned(runs, run, "BCQ")
    ratios = _ratios(runs, "BCQ", unlearned)
    failures = []
    for key, ratio in ratios.items():
        if key[0] == "hopper" and not loses(ratio):
            failures.append(f"{pair_name(key)} does not clearly lose score")
        elif key[0] != "hopper" and not keeps(ratio):
            failures.append(f"{pair_name(key)} may lose score")
    return _score_verdict("rl-bcq-95", run, unlearned, ratios, failures)


def keeps(ratio: Interval) -> bool:
    """Whether the interval shows that at least KEEPS of the dense score is kept."""
    return bool(ratio.low >= KEEPS)


def loses(ratio: Interval) -> bool:
    """Whether the ratio is below KEEPS and the interval excludes an equal score."""
    return bool(ratio.estimate < KEEPS and ratio.high < 1)


def not_learned(runs: pd.DataFrame, run: Conditions, algorithm: str) -> dict[str, str]:
    """Tasks whose dense policies can't be judged against, each with the reason.

    A policy that learned nothing has nothing to lose: its ratio would mean nothing.
    """
    found = {}
    for task in TASKS:
        dense = seed_scores(runs, task, "dense", 0, algorithm)
        name = f"the dense {algorithm} on {label(TASK_LABELS, task)}"
        expert = run.behaviour.get(task, np.inf)
        if dense.empty or not dense.mean() >= LEARNED * expert:
            part = "" if dense.empty else f" ({dense.mean():.0f} of {expert:.0f})"
            found[task] = f"{name} does not reach {LEARNED:.0%} of the data's policy{part}"
        elif (spread := dense.max() - dense.min()) >= STEADY:
            found[task] = f"{name} differs by {spread:.0f} points from seed to seed"
    return found


def _ratios(
    runs: pd.DataFrame, algorithm: str, unlearned: Mapping[str, str]
) -> dict[tuple[str, str], Interval]:
    """Each method's on each task that was learned."""
    return {
        (task, method): ratio_to_dense(runs, task, method, SPARSITY, algorithm)
        for task in TASKS
        if task not in unlearned
        for method in METHODS
    }


def _score_verdict(
    claim: str,
    run: Conditions,
    unlearned: Mapping[str, str],
    ratios: dict[tuple[str, str], Interval],
    failures: list[str],
) -> Verdict:
    obstacles, departures = run.obstacles(), run.departures()
    few_learned = len(TASKS) - len(unlearned) < LEARNING_TASKS
    (obstacles if few_learned else departures).extend(unlearned.values())
    obstacles += [
        f"{pair_name(key)} was not run" for key, r in ratios.items() if np.isnan(r.estimate)
    ]
    known = {key: ratio for key, ratio in ratios.items() if not np.isnan(ratio.estimate)}
    return decide(
        claim,
        obstacles=obstacles,
        failures=failures,
        measured="Ratio to dense: "
        + ", ".join(f"{pair_name(key)} {ratio.estimate:.2f}" for key, ratio in known.items()),
        interval=", ".join(f"{pair_name(key)} {ratio.ends()}" for key, ratio in known.items()),
        other_data=departures,
    )


def pair_name(key: tuple[str, str]) -> str:
    """Task and method as a reader knows them."""
    return f"{label(TASK_LABELS, key[0])} {label(METHOD_LABELS, key[1])}"


def counted(number: int, noun: str) -> str:
    """A number of things: `1 seed`, `2 seeds`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
