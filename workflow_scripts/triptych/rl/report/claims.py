"""The offline-RL paper's claims and four of ours, each fixed before the run that it judges."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from triptych.report.claims import Finding, Need, all_of, at_least, claim, one_of
from triptych.report.statistics import Interval, mean_interval
from triptych.rl.methods import CRITERIA, DENSE, OBSERVATIONS
from triptych.rl.report import claims_masks as networks
from triptych.rl.report.claims_masks import (
    METHODS,
    PAIRS,
    PAPER,
    SEEDS,
    SPARSITY,
    TASKS,
    Rows,
    Tables,
    has_data,
    has_seeds,
    has_transitions,
    is_wide,
    seeds_of,
)
from triptych.rl.report.labels import ALL_TASKS, METHOD_LABELS, TASK_LABELS
from triptych.rl.report.scores import CELL, INTERVAL, RATIO, gap, paired, summarise_scores
from triptych.rl.report.tables import beside_default, comparisons_long, described
from triptych.rl.tasks.sweep import DEFAULT

ALGORITHMS = tuple(sorted(PAPER["sweeps"]["bcq"]["algorithms"]))
"""Those whose scores the paper compares: BC, BCQ."""
SPARSITIES = tuple(PAPER["sweeps"]["bcq"]["runs"]["paper"]["sparsities"])
LEVELS = ", ".join(map(str, SPARSITIES))
EPISODES = 10
ENOUGH_UPDATES = 100_000
PRECISIONS = ("float32", "tf32")
KEEPS = 0.9
LEARNED = 0.9
STEADY = 15
LEARNING_TASKS = 2
LOST = 1.0
EVEN = 0.5
SOME_TASKS = 2
SNIP, _ = METHODS
EXCEPTED = ("BCQ", "hopper")
"""Algorithm and task that lose their score in the paper, too."""
SHUFFLED = {"snip": "shuffled", "grasp": "shuffled_grasp"}
FEW = 10_000
"""The most transitions that the claim on few data calls few."""
SMALL_ALGORITHMS = ("TD3+BC", "IQL")
"""Those of that claim, as in later work of the paper's first author (arXiv 2506.17155)."""
JUDGED = (
    f"Only tasks are judged on which the dense policies reach {LEARNED:.0%} of the data's policy, "
    f"within {STEADY} points of each other; {LEARNING_TASKS} of them at least."
)

# What claims on scores need.


def _scores(plan: Any, name: str, *more: Need) -> Iterator[Need]:
    """Needs of each claim on the scores of an algorithm."""
    runs, config = _runs(plan, name), plan.config
    episodes, updates = config["evaluation"]["final_episodes"], config["training"]["updates"]
    yield from has_data(plan)
    yield at_least(
        f"{EPISODES} episodes behind each run's score", episodes if runs else 0, EPISODES
    )
    yield _has_seeds(runs)
    yield from more
    yield has_transitions("fewer transitions")
    yield _is_precise([config["training"]["precision"]])
    yield is_wide(plan, runs, "narrower networks")
    enough = f"{ENOUGH_UPDATES:,} updates"
    yield at_least(enough, updates if runs else 0, ENOUGH_UPDATES, "fewer updates")


def _runs(plan: Any, name: str, **values: Any) -> list[Any]:
    """Runs of an algorithm on all data, by default those on the usual observations."""
    chosen = {"observations": plan.config["observations"], "pruning": DEFAULT, **values}
    sweeps = plan.config["sweeps"]
    return [run for run in plan.select(**chosen) if name in sweeps[run["sweep"]]["algorithms"]]


def _has_seeds(runs: Rows) -> Need:
    return has_seeds(f"{SEEDS} seeds of every task and method", runs, (DENSE, *METHODS), SEEDS)


def _is_precise(precisions: Iterable[str]) -> Need:
    return one_of("float32 or TF32", precisions, PRECISIONS, "lower precision")


def _levels(plan: Any) -> Iterator[Need]:
    for name in ALGORITHMS:
        yield from _scores(plan, name)
    yield _has_every_level({name: _runs(plan, name) for name in ALGORITHMS})


def _has_every_level(runs: Mapping[str, Rows]) -> Need:
    """Need all seeds of every algorithm at every sparsity. runs: by algorithm."""
    what = f"{SEEDS} seeds of every task and method at every sparsity"
    levels = [*product(ALGORITHMS, SPARSITIES)]
    seeds = {(name, level): seeds_of(runs[name], level) for name, level in levels}
    whole = [key for key in levels if all(len(seeds[key][cell]) >= SEEDS for cell in PAIRS)]
    found, every = ([f"{name} {level}" for name, level in part] for part in (whole, levels))
    return all_of(what, found, every)


def _other_prunings(plan: Any) -> Iterator[Need]:
    keys = {"batch": {CRITERIA[method].batch for method in METHODS}, "iterations": {"iterations"}}
    seeds = {
        name: seeds_of(_runs(plan, "BC", pruning=name), SPARSITY)
        for name in plan.config["pruning"]["variants"]
    }
    whole = [
        settings.keys()
        for name, settings in plan.config["pruning"]["variants"].items()
        if all(len(seeds[name][cell]) >= SEEDS for cell in PAIRS)
    ]
    varied = [name for name, own in keys.items() if any(own <= others for others in whole)]
    what = "BC by other batches and iterations (config/beyond.yaml)"
    return _scores(plan, "BC", all_of(what, varied, [*keys]))


def _sensors(plan: Any) -> Iterator[Need]:
    seeds = [seeds_of(_runs(plan, "BC", observations=kind), SPARSITY) for kind in OBSERVATIONS]

    def shared(task: str, method: str) -> set[int]:
        return set.intersection(*(own[task, name] for own in seeds for name in (method, DENSE)))

    return _scores(plan, "BC", _has_pairs("BC on raw and on normalised observations", shared))


def _shuffles(plan: Any) -> Iterator[Need]:
    seeds = seeds_of(_runs(plan, "BC"), SPARSITY)

    def shared(task: str, method: str) -> set[int]:
        return seeds[task, method] & seeds[task, SHUFFLED[method]]

    return _scores(plan, "BC", _has_pairs("BC with shuffled masks of both methods", shared))


def _has_pairs(what: str, shared: Callable[[str, str], set[int]]) -> Need:
    """Need seeds that all runs compared for a task and method share."""
    there = [f"{task} {method}" for task, method in PAIRS if shared(task, method)]
    what += " (config/beyond.yaml)"
    return all_of(what, there, [f"{task} {method}" for task, method in PAIRS])


def _small_data(plan: Any) -> Iterator[Need]:
    """Needs of the claim on few transitions: runs of one seed or more, dense and by SNIP."""
    tasks, data = has_data(plan)
    runs = {
        (name, run["task"], run["method"])
        for run in plan.select(small=True)
        if run["max_transitions"] <= FEW
        for name in plan.config["sweeps"][run["sweep"]]["algorithms"]
    }
    cells = [*product(SMALL_ALGORITHMS, TASKS)]
    both = [cell for cell in cells if {(*cell, DENSE), (*cell, SNIP)} <= runs]
    what = "TD3+BC and IQL on few transitions (config/small-data.yaml)"
    yield tasks
    found, every = ([" ".join(cell) for cell in part] for part in (both, cells))
    yield all_of(what, found, every)
    yield data


def _found(tables: Tables, *names: str) -> list[Need]:
    """Needs of these algorithms' scores as a run answers them, without seeds that diverged."""
    precise = [_is_precise(tables.precisions)] if tables.precisions else []
    same = [has_transitions(found=tables.transitions), *precise]
    return [need for name in names for need in (*same, _has_seeds(_scored(tables, name)))]


def _scored(tables: Tables, name: str) -> list[Any]:
    rows: list[Any] = tables.scores[tables.scores["algorithm"] == name].to_dict("records")
    return rows


def _require(found: Finding, name: str, side: int, claimed: str) -> None:
    """Note where a comparison does not lie on the claimed side. claimed: what is compared does."""
    found.require(side, f"{name} does not {claimed}", f"{name} does not clearly {claimed}")


# Claims.


@claim("rl-bc-95", needs=lambda plan: _scores(plan, "BC"))
def bc_keeps_its_score(tables: Tables) -> Finding:
    """BC keeps its score where the lower end of the 95% interval (seeds paired) of the ratio to
    dense is at least {KEEPS}; required on all three tasks with both methods. {JUDGED}"""
    return _keeps_score(tables, "BC")


@claim("rl-bcq-95", needs=lambda plan: _scores(plan, "BCQ"))
def bcq_keeps_its_score(tables: Tables) -> Finding:
    """On HalfCheetah and Walker2d the lower end of the 95% interval of the ratio to dense is at
    least {KEEPS} with both methods; on Hopper, with both, the ratio is below {KEEPS} and the upper
    end of its interval below {LOST:g}. {JUDGED}"""
    return _keeps_score(tables, "BCQ")


def _keeps_score(tables: Tables, algorithm: str) -> Finding:
    """Ratios to the dense score at SPARSITY (Figures 1 and 2): of EXCEPTED clearly below LOST, of
    all others at least KEEPS."""
    found = Finding(heading="Ratio to dense: ", needs=_found(tables, algorithm))
    for key, ratio in _ratios(tables, algorithm, TASKS, (SPARSITY,), found).items():
        name = pair_name(*key)
        if np.isnan(ratio.estimate):
            found.obstacles.append(f"{name} was not run")
            continue
        found.add(f"{name} {ratio.estimate:.2f}", f"{name} {ratio.ends()}")
        if (algorithm, key[0]) == EXCEPTED:
            _require(found, name, loses(ratio), "lose its score")
        else:
            _require(found, name, keeps(ratio), "keep its score")
    return found


@claim("rl-consistent", needs=_levels)
def scores_are_consistent(tables: Tables) -> Finding:
    """At every sparsity ({LEVELS}%) the lower end of the 95% interval of the ratio to dense is at
    least {KEEPS} with both methods: BC on all three tasks, BCQ on all but Hopper. {JUDGED}"""
    found = Finding(heading="Least ratio to dense: ", needs=_found(tables, *ALGORITHMS))
    found.needs.append(_has_every_level({name: _scored(tables, name) for name in ALGORITHMS}))
    for algorithm in ALGORITHMS:
        tasks = [task for task in TASKS if (algorithm, task) != EXCEPTED]
        ratios = {
            f"{algorithm} on {pair_name(*key)} at {key[-1]}%": ratio
            for key, ratio in _ratios(tables, algorithm, tasks, SPARSITIES, found).items()
            if not np.isnan(ratio.estimate)
        }
        for name, ratio in ratios.items():
            _require(found, name, keeps(ratio), "keep its score")
        for name in sorted(ratios, key=lambda name: ratios[name].estimate)[:1]:
            found.add(f"{name} {ratios[name].estimate:.2f}", f"{name} {ratios[name].ends()}")
    return found


def _ratios(
    tables: Tables, algorithm: str, tasks: Sequence[str], levels: Sequence[int], found: Finding
) -> dict[tuple[str, str, int], Interval]:
    """Ratios to the dense score by task, method and sparsity, nan where one was not run.

    Tasks on which the dense policies learned nothing are left out, which `found` notes.
    """
    own = tables.scores[tables.scores["algorithm"] == algorithm]
    scores = summarise_scores(own).set_index(CELL[:3])
    unlearned = _not_learned(tables, algorithm, tasks, scores)
    few = len(tasks) - len(unlearned) < LEARNING_TASKS
    (found.obstacles if few else found.partly).extend(unlearned.values())
    keys = [*product([task for task in tasks if task not in unlearned], METHODS, levels)]
    ratios = scores.reindex(keys)[[*RATIO]].to_numpy().tolist()
    return {key: Interval(*ratio) for key, ratio in zip(keys, ratios, strict=True)}


def _not_learned(
    tables: Tables, algorithm: str, tasks: Sequence[str], scores: pd.DataFrame
) -> dict[str, str]:
    """Tasks whose dense policies learned nothing that could be lost, each with the reason."""
    reasons = {}
    for task in tasks:
        name = f"the dense {algorithm} on {TASK_LABELS[task]}"
        dense, expert = (
            scores.reindex([(task, DENSE, 0)]).iloc[0],
            tables.behaviour.get(task, np.inf),
        )
        spread = dense["maximum"] - dense["minimum"]
        if pd.isna(dense["value"]):
            reasons[task] = f"{name} was not run"
        elif not dense["value"] >= LEARNED * expert:
            part = f"({dense['value']:.0f} of {expert:.0f})"
            reasons[task] = f"{name} does not reach {LEARNED:.0%} of the data's policy {part}"
        elif spread >= STEADY:
            reasons[task] = f"{name} differs by {spread:.0f} points from seed to seed"
    return reasons


def keeps(ratio: Interval) -> int:
    """1 where the interval shows that at least KEEPS of the dense score is kept, -1 where less."""
    return int(ratio.low >= KEEPS) - int(ratio.high < KEEPS)


def loses(ratio: Interval) -> int:
    """1 where the ratio is below KEEPS and its interval excludes an equal score, -1 where the score
    is kept."""
    return int(ratio.estimate < KEEPS and ratio.high < LOST) - int(ratio.low >= KEEPS)


@claim("rl-other-prunings", needs=_other_prunings)
def other_prunings_do_not_help(tables: Tables) -> Finding:
    """At {SPARSITY}% sparsity no other batch and number of iterations of pruning scores more than
    the default: the 95% interval of the difference (seeds paired; mean over the tasks) does not lie
    above 0. A wide interval says little, so it is shown."""
    found = Finding(heading="Points more than by the default pruning, mean over tasks: ")
    found.needs += _found(tables, "BC")
    pairs = beside_default(tables.varied[tables.varied["sparsity_percent"] == SPARSITY])
    gaps = pairs.assign(gap=pairs["score"] - pairs["other"]).pivot(
        index=["algorithm", "pruning", "method", "seed"], columns="task", values="gap"
    )
    by_seed = gaps.reindex(columns=[*TASKS]).dropna().mean(axis=1)
    names: Any
    for names, differences in by_seed.groupby(["algorithm", "pruning", "method"]):
        algorithm, pruning, method = names
        changed = described(method, tables.variants[pruning])
        if algorithm in ALGORITHMS and method in METHODS and changed:
            more = mean_interval(differences)
            name = f"{algorithm} {METHOD_LABELS[method]} by {changed}"
            found.add(f"{name} {more.estimate:+.1f}", f"{name} {more.ends(1, '+')}")
            if more.side() > 0:
                found.failures.append(f"{name} scores more")
    return found


@claim("rl-ours-sensors", needs=_sensors)
def normalising_makes_it_work(tables: Tables) -> Finding:
    """Ours, fixed after trials of two seeds and before the run of five: with BC at {SPARSITY}%
    sparsity, on all three tasks and with both methods, normalised observations gain more score than
    they gain the dense network: the 95% interval of the difference of the gains (seeds paired) lies
    above 0."""
    found = Finding(heading="Points that BC gains by normalised observations: ")
    found.needs += _found(tables, "BC")
    runs = tables.seen[tables.seen["sparsity_percent"].isin([0, SPARSITY])]
    runs = runs[runs["algorithm"] == "BC"]
    normalised, raw = (runs[runs["observations"] == kind] for kind in ("normalised", "raw"))
    gains = paired(normalised, raw, ["task", "method", "seed"], how="inner")
    gains = gains.assign(gain=gains["score"] - gains["other"])
    gains = gains.pivot(index=["task", "seed"], columns="method", values="gain")
    gains = gains.reindex(columns=[DENSE, *METHODS]).reset_index("task")
    for task, method in PAIRS:
        name, of_task = pair_name(task, method), gains[gains["task"] == task]
        both = of_task[[method, DENSE]].dropna()
        if both.empty:
            found.obstacles.append(f"{name} has no scores on raw and on normalised observations")
            continue
        more, (pruned, dense) = mean_interval(both[method] - both[DENSE]), both.mean()
        found.add(
            f"{name} {pruned:+.0f} (dense {dense:+.0f})", f"{name} beyond dense {more.ends(0, '+')}"
        )
        _require(found, name, more.side(), "gain more than the dense network")
    return found


@claim("rl-ours-shuffled", needs=_shuffles)
def criteria_beat_their_shuffles(tables: Tables) -> Finding:
    """Ours, fixed before the run: with BC at {SPARSITY}% sparsity, SNIP and GraSP each score more
    than their own mask shuffled within its layers: the probability of improvement over the three
    tasks has an interval above {EVEN}, and the difference of scores (seeds paired) one above 0 on
    at least two of them."""
    found, scores = Finding(needs=_found(tables, "BC")), tables.scores
    of_bc = (scores["algorithm"] == "BC") & (scores["sparsity_percent"] == SPARSITY)
    long = comparisons_long(scores[of_bc]).set_index(["first", "second", "task"])[[*INTERVAL]]
    for method, control in SHUFFLED.items():
        name = f"{METHOD_LABELS[method]} against {METHOD_LABELS[control]}"
        rows = long.reindex([(method, control, task) for task in (*TASKS, ALL_TASKS)])
        if rows["value"].isna().any():
            found.obstacles.append(f"{name} has no scores on some task")
            continue
        *gaps, more = (Interval(*row) for row in rows.to_numpy().tolist())
        sides = [one.side() for one in gaps]
        probability = f"{name}: scores more with probability {more.estimate:.2f}"
        found.add(probability, f"{name} {more.ends()}")
        for task, one in zip(TASKS, gaps, strict=True):
            found.add("", f"{TASK_LABELS[task]} {one.estimate:+.1f} {one.ends(1, '+')}")
        worse = more.high < EVEN or sides.count(-1) >= SOME_TASKS
        better = more.low > EVEN and sides.count(1) >= SOME_TASKS
        found.require(better - worse, f"{name}: worse", f"{name}: not clearly better")
    return found


@claim("rl-ours-small-data", needs=_small_data)
def sparsity_helps(tables: Tables) -> Finding:
    """Ours, fixed before any run: of TD3+BC and of IQL on {FEW:,} transitions of a task or fewer,
    SNIP at {SPARSITY}% scores more than dense: the 95% interval of the difference (seeds paired;
    mean over tasks and numbers of transitions) lies above 0 for both."""
    found = Finding(heading=f"SNIP at {SPARSITY}% less dense, {FEW:,} transitions or fewer: ")
    few = tables.small[tables.small["trained_on"] <= FEW]
    snip, dense = (few[few["method"] == name] for name in (SNIP, DENSE))
    snip = snip[snip["sparsity_percent"] == SPARSITY]
    pairs = paired(snip, dense, ["algorithm", "task", "trained_on", "seed"], how="inner")
    for algorithm in SMALL_ALGORITHMS:
        of_algorithm = pairs[pairs["algorithm"] == algorithm]
        if of_algorithm.empty:
            return Finding(obstacles=[f"{algorithm} was not run on few transitions"])
        by_seed = of_algorithm.groupby("seed")[["score", "other"]].mean()
        more, mean = gap(by_seed), by_seed["other"].mean()
        found.add(
            f"{algorithm} {more.estimate:+.1f} (dense {mean:.1f})",
            f"{algorithm} {more.ends(1, '+')}",
        )
        _require(found, f"{algorithm} by SNIP", more.side(), "score more than dense")
    return found


def pair_name(task: str, method: str, *_: int) -> str:
    """Task and method as a reader knows them."""
    return f"{TASK_LABELS[task]} {METHOD_LABELS[method]}"


CLAIMS = (
    bc_keeps_its_score,
    bcq_keeps_its_score,
    scores_are_consistent,
    other_prunings_do_not_help,
    networks.last_layer_keeps_most,
    networks.patterns_are_alike,
    networks.memory_shrinks_four_times,
    networks.sparse_kernels_act_faster,
    normalising_makes_it_work,
    criteria_beat_their_shuffles,
    sparsity_helps,
    networks.sparse_kernels_train_faster,
)
"""In the order of resources/published/rl_claims.csv."""
