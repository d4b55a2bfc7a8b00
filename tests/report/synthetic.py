"""Made-up but plausible frames in the layouts of the rules' CSV files, for tests alone."""

import itertools
import math

import numpy as np
import pandas as pd

from triptych.rl.report.scores import score_cells
from triptych.rl.tasks.task import NORMALISED, PAPER

DIMENSIONS = {"hopper": (11, 3), "walker2d": (17, 6), "halfcheetah": (17, 6)}
EXPERTS = {"hopper": 103.0, "walker2d": 89.0, "halfcheetah": 41.0}
METHODS = ("snip", "grasp", "random", "magnitude", "shuffled", "shuffled_grasp")
SPARSITIES = (50, 80, 90, 95)
MEASURED = {"networks": "paper", "observations": "normalised", "pruning": "default"}


LAST, MIDDLE = ("l3", "l6", "d3", "mean", "log_std"), ("l2", "l5", "e2", "d2")
BIASES = {"actor": 706, "critic": 1402, "vae": 3030}
RUN = ["task", "method", "sparsity_percent", "seed"]


def crossed(**columns) -> pd.DataFrame:
    """A row for each combination of these values; the last change first."""
    return pd.MultiIndex.from_product(columns.values(), names=columns).to_frame(index=False)


def layer_weights(actor=(400, 300), vae=(750, 750)) -> pd.DataFrame:
    """Weights of each task's layers: task, network, group, layer, weights."""
    table = []
    for task, (states, actions) in DIMENSIONS.items():
        both, latent = states + actions, 2 * actions
        chains = [
            ("actor", "actor", "l1 l2 l3", (both, *actor, actions)),
            ("critic", "critic", "l1 l2 l3", (both, *actor, 1)),
            ("critic", "critic", "l4 l5 l6", (both, *actor, 1)),
            ("vae", "encoder", "e1 e2 mean", (both, *vae, latent)),
            ("vae", "encoder", "log_std", (vae[1], latent)),
            ("vae", "decoder", "d1 d2 d3", (states + latent, *vae, actions)),
        ]
        for network, group, names, widths in chains:
            for layer, sizes in zip(names.split(), itertools.pairwise(widths), strict=True):
                table.append((task, network, group, layer, math.prod(sizes)))
    return pd.DataFrame(table, columns=["task", "network", "group", "layer", "weights"])


def rows(methods=METHODS, sparsities=SPARSITIES, seeds=range(5)) -> pd.DataFrame:
    """The row keys (method, sparsity_percent, seed) of one task's part of the sweep."""
    pruned = [
        (method, sparsity)
        for method in methods
        for sparsity in (sparsities if method in ("snip", "grasp") else sparsities[-1:])
    ]
    cells = pd.DataFrame([("dense", 0), *pruned], columns=["method", "sparsity_percent"])
    return cells.merge(crossed(seed=seeds), how="cross")


def scores(
    methods=METHODS,
    seeds=range(5),
    evaluations=4,
    updates=2000,
    tasks=DIMENSIONS,
    sparsities=SPARSITIES,
):
    """scores.csv: a BCQ on Hopper that fails at high sparsity, everything else holding."""
    generator = np.random.default_rng(7)
    runs = crossed(task=tasks, algorithm=["BCQ", "BC"])
    runs = runs.merge(rows(methods, sparsities, seeds), how="cross")
    sparsity, fails = runs["sparsity_percent"], runs.eval("task == 'hopper' and algorithm == 'BCQ'")
    level = 0.96 - 0.02 * (sparsity >= 90) - 0.5 * fails * (sparsity / 95) ** 4
    level -= 0.2 * ~runs["method"].isin(["dense", "snip", "grasp"])
    runs["level"] = level + generator.normal(0, 0.02, len(runs))
    steps = [step * updates // evaluations for step in range(1, evaluations + 1)]
    frame = runs.merge(crossed(update=steps, episode=range(10)), how="cross")
    level = frame.pop("level") + generator.normal(0, 0.01, len(frame))
    score = frame["task"].map(EXPERTS) * level
    frame = frame.assign(**{"return": 30 * score}, score_normalised=score, steps=1000)
    frame = frame.assign(observations="normalised", pruning="default", unit=NORMALISED)
    columns = ["task", "observations", "method", "sparsity_percent", "seed", "algorithm", "update"]
    columns += ["episode", "return", "score_normalised", "steps", "pruning", "unit"]
    return frame[columns]


def cells(long, evaluations=None, **kwargs):
    """A long frame of scores as a rule writes it."""
    evaluations = scores(evaluations=1) if evaluations is None else evaluations
    return score_cells(long, evaluations, datasets(), scale="demo", **kwargs)


def few_scores(gain, algorithms=("TD3+BC", "IQL"), counts=(1000, 100_000), seeds=range(3)):
    """scores.csv of runs on few data: two episodes of each run.

    SNIP scores `gain(seed)` more than dense on 1,000 transitions, and as much on more.
    """
    runs = {"algorithm": algorithms, "task": DIMENSIONS, "trained_on": counts, "seed": seeds}
    frame = crossed(**runs, method=["dense", "snip"], episode=range(2))
    pruned = frame["method"] == "snip"
    more = frame["seed"].map(gain).where(pruned & (frame["trained_on"] == 1000), 0)
    frame = frame.assign(sparsity_percent=95 * pruned, update=10, observations="normalised")
    score = 20 + more + frame["episode"]
    return frame.assign(pruning="default", score_normalised=score, unit=NORMALISED)


def both_ways(scores):
    """Those scores, and of the raw observations' runs, which lose what normalised ones keep."""
    raw = scores[scores["method"].isin(["dense", "snip", "grasp"])].assign(observations="raw")
    raw.loc[raw["method"] != "dense", "score_normalised"] *= 0.3
    return pd.concat([scores, raw], ignore_index=True)


def with_a_variant():
    """Scores, and those of SNIP and GraSP iterated: half a point more."""
    of = scores()
    iterated = of[of["method"].isin(["snip", "grasp"]) & (of["sparsity_percent"] == 95)]
    iterated = iterated.assign(
        pruning="iterated", score_normalised=iterated["score_normalised"] + 0.5
    )
    return pd.concat([of, iterated], ignore_index=True)


def inputs():
    """inputs.csv: normalised masks keep some of every input, raw ones nothing of the first."""
    table = [
        {"task": task, "observations": kind, "method": method, "sparsity_percent": sparsity}
        | {"seed": seed, "layer": layer, "input": i, "name": name}
        | {"kept": 750 if method == "dense" else 40 * (kind == "normalised" or i > 0)}
        for task in DIMENSIONS
        for kind in ("normalised", "raw")
        for method, sparsity, seed in rows(("snip", "grasp")).itertuples(index=False)
        for layer in ("actor.l1", "critic.l1", "vae.e1", "vae.d1")
        for i, name in enumerate(PAPER[task].inputs)
    ]
    return pd.DataFrame(table).assign(pruning="default", weights=750, networks="paper")


def layers(methods=METHODS, **widths):
    """layers.csv: late layers keep more, GraSP more than SNIP."""
    frame = rows(methods).merge(layer_weights(**widths), how="cross")
    method, layer, weights = frame["method"], frame["layer"], frame["weights"]
    late = np.where(method == "grasp", 11.0, 8.0)
    share = np.select([layer.isin(LAST), layer.isin(MIDDLE)], [late, 0.6], 3.0)
    share = np.where(method.isin(["snip", "grasp", "shuffled"]), share, 1.0)
    noise = np.random.default_rng(3).uniform(0.9, 1.1, len(frame))
    kept = (weights * (1 - frame["sparsity_percent"] / 100) * share * noise).round()
    gone = (method == "snip") & (layer == "e2") & (frame["sparsity_percent"] == 95)
    kept = kept.mask(gone, 5 * (frame["seed"] >= 3)).where(method != "dense", weights)
    kept = kept.clip(upper=weights).astype(int)
    return frame.assign(kept=kept, share_kept=kept / weights, **MEASURED)


def sizes():
    """sizes.csv: 4 bytes a dense weight, 20 a sparse one, plus biases and a header."""
    networks = layer_weights().groupby(["task", "network"], as_index=False)["weights"].sum()
    frame = rows(("snip", "grasp")).merge(networks, how="cross")
    weights, biases = frame.pop("weights"), frame["network"].map(BIASES)
    kept = (weights * (1 - frame["sparsity_percent"] / 100)).round().astype(int)
    formats = {
        "dense": 4 * (weights + biases) + 2700,
        "coo": 20 * kept + 12 * biases + 4000,
        "packed_fp32": weights // 8 + 4 * (kept + biases) + 400,
        "packed_fp16": weights // 8 + 2 * (kept + biases) + 400,
    }
    frame = frame.assign(**formats, **MEASURED)
    keys = [*RUN, "network", *MEASURED]
    return frame.melt(keys, [*formats], var_name="format", value_name="bytes")


def latency():
    """latency.csv of one task, after the measurements of a laptop."""
    base = {
        ("actor", 1, 1): (22.7, 11.6, 65.6, 6.6, None),
        ("actor", 10, 1): (61, 55, 39, 48, None),
        ("actor", 100, 1): (728, 700, 119, 420, None),
        ("BCQ policy", 1, 100): (2016, 1900, 930, 880, None),
        ("BCQ policy", 10, 100): (19000, 18500, 7000, 8200, None),
        ("BC policy", 1, 1): (79, 44, 106, 21, None),
        ("BC policy", 10, 1): (160, 150, 130, 120, None),
        ("BC policy", 100, 1): (1400, 1300, 420, 900, None),
        ("BC update", 100, 1): (12000, None, None, None, 3600),
        ("BCQ update", 100, 1): (40000, None, None, None, 14000),
    }
    kernels = ("torch dense", "numpy dense", "torch CSR", "policy.c", "torch embedding_bag")
    table = [
        {"part": part, "batch": batch, "candidates": candidates, "kernel": kernel}
        | {"microseconds_median": time, "microseconds_minimum": 0.95 * time}
        | {"maximum_difference": difference}
        for (part, batch, candidates), times in base.items()
        for kernel, time, difference in zip(kernels, times, (0, 1e-9, *3 * [2e-8]), strict=True)
        if time is not None
    ]
    run = {"task": "halfcheetah", "networks": "paper", "method": "snip", "sparsity_percent": 95}
    return pd.DataFrame(table).assign(**run, repeats=200)


def datasets(source="collected"):
    """dataset.csv of the three tasks."""
    return pd.DataFrame(
        {
            "task": list(DIMENSIONS),
            "source": source,
            "file": [f"{task}_expert-v2.hdf5" for task in DIMENSIONS],
            "transitions": 999_000,
            "episodes": 100,
            "return_mean": [3300.0, 4100.0, 4800.0],
            "return_std": [10.0, 20.0, 60.0],
            "score_normalised_mean": list(EXPERTS.values()),
            "score_normalised_std": [0.4, 0.5, 0.6],
            "terminals": 0,
            "timeouts": 100,
        }
    )
