"""Made-up but plausible frames in the layouts of the rules' CSV files, for tests alone."""

import itertools

import numpy as np
import pandas as pd

from triptych.rl.report.scores import score_cells
from triptych.rl.tasks.task import NORMALISED, PAPER

DIMENSIONS = {"hopper": (11, 3), "walker2d": (17, 6), "halfcheetah": (17, 6)}
EXPERTS = {"hopper": 103.0, "walker2d": 89.0, "halfcheetah": 41.0}
METHODS = ("snip", "grasp", "random", "magnitude", "shuffled", "shuffled_grasp")
SPARSITIES = (50, 80, 90, 95)
MEASURED = {"networks": "paper", "observations": "normalised", "pruning": "default"}


def layer_weights(task: str, actor=(400, 300), vae=(750, 750)) -> dict[tuple[str, str, str], int]:
    """Weights of each layer by (network, group, layer)."""
    states, actions = DIMENSIONS[task]
    a, b = actor
    c, d = vae
    both, latent = states + actions, 2 * actions
    sizes = {
        ("actor", "actor", "l1"): both * a,
        ("actor", "actor", "l2"): a * b,
        ("actor", "actor", "l3"): b * actions,
    }
    for first in (1, 4):
        sizes |= {
            ("critic", "critic", f"l{first}"): both * a,
            ("critic", "critic", f"l{first + 1}"): a * b,
            ("critic", "critic", f"l{first + 2}"): b,
        }
    return sizes | {
        ("vae", "encoder", "e1"): both * c,
        ("vae", "encoder", "e2"): c * d,
        ("vae", "encoder", "mean"): d * latent,
        ("vae", "encoder", "log_std"): d * latent,
        ("vae", "decoder", "d1"): (states + latent) * c,
        ("vae", "decoder", "d2"): c * d,
        ("vae", "decoder", "d3"): d * actions,
    }


def rows(methods=METHODS, sparsities=SPARSITIES, seeds=range(5)):
    """The row keys (method, sparsity_percent, seed) of one task's part of the sweep."""
    for seed in seeds:
        yield "dense", 0, seed
        for method in methods:
            for sparsity in sparsities if method in ("snip", "grasp") else sparsities[-1:]:
                yield method, sparsity, seed


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
    table = []
    for task in tasks:
        for method, sparsity, seed in rows(methods, sparsities, seeds=seeds):
            for algorithm in ("BCQ", "BC"):
                level = 0.96 - (0.02 if sparsity >= 90 else 0)
                if algorithm == "BCQ" and task == "hopper":
                    level -= 0.5 * (sparsity / 95) ** 4
                if method not in ("dense", "snip", "grasp"):
                    level -= 0.2
                level += generator.normal(0, 0.02)
                for step in range(1, evaluations + 1):
                    for episode in range(10):
                        score = EXPERTS[task] * (level + generator.normal(0, 0.01))
                        run = (task, "normalised", method, sparsity, seed, algorithm)
                        update = step * updates // evaluations
                        table.append((*run, update, episode, 30 * score, score, 1000))
    columns = ["task", "observations", "method", "sparsity_percent", "seed", "algorithm", "update"]
    columns += ["episode", "return", "score_normalised", "steps"]
    return pd.DataFrame(table, columns=columns).assign(pruning="default", unit=NORMALISED)


def cells(long, evaluations=None, **kwargs):
    """A long frame of scores as a rule writes it."""
    evaluations = scores(evaluations=1) if evaluations is None else evaluations
    return score_cells(long, evaluations, datasets(), scale="demo", **kwargs)


def few_scores(gain, algorithms=("TD3+BC", "IQL"), counts=(1000, 100_000), seeds=range(3)):
    """scores.csv of runs on few data: two episodes of each run.

    SNIP scores `gain(seed)` more than dense on 1,000 transitions, and as much on more.
    """
    rows = []
    for algorithm, task, count, seed in itertools.product(algorithms, DIMENSIONS, counts, seeds):
        for method, level in (("dense", 0), ("snip", 95)):
            more = gain(seed) if method == "snip" and count == 1000 else 0
            row = {"task": task, "observations": "normalised", "method": method, "seed": seed}
            row |= {"pruning": "default", "sparsity_percent": level, "algorithm": algorithm}
            row |= {"update": 10, "trained_on": count}
            rows += [row | {"episode": i, "score_normalised": 20 + more + i} for i in range(2)]
    return pd.DataFrame(rows).assign(unit=NORMALISED)


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
        for method, sparsity, seed in rows(("snip", "grasp"))
        for layer in ("actor.l1", "critic.l1", "vae.e1", "vae.d1")
        for i, name in enumerate(PAPER[task].inputs)
    ]
    return pd.DataFrame(table).assign(pruning="default", weights=750, networks="paper")


def layers(methods=METHODS, **widths):
    """layers.csv: late layers keep more, GraSP more than SNIP."""
    generator = np.random.default_rng(3)
    table = []
    for task in DIMENSIONS:
        for method, sparsity, seed in rows(methods):
            keep = 1 - sparsity / 100
            for (network, group, layer), weights in layer_weights(task, **widths).items():
                share = keep
                if method in ("snip", "grasp", "shuffled"):
                    last = layer in ("l3", "l6", "d3", "mean", "log_std")
                    middle = layer in ("l2", "l5", "e2", "d2")
                    late = 11.0 if method == "grasp" else 8.0
                    share *= late if last else 0.6 if middle else 3.0
                kept = weights * share * generator.uniform(0.9, 1.1)
                if method == "snip" and layer == "e2" and sparsity == 95:
                    kept = 0 if seed < 3 else 5
                kept = weights if method == "dense" else min(round(kept), weights)
                run = (task, method, sparsity, seed, network, group, layer)
                table.append((*run, weights, kept, kept / weights))
    columns = ["task", "method", "sparsity_percent", "seed", "network", "group"]
    columns += ["layer", "weights", "kept", "share_kept"]
    return pd.DataFrame(table, columns=columns).assign(**MEASURED)


def sizes():
    """sizes.csv: 4 bytes a dense weight, 20 a sparse one, plus biases and a header."""
    table = []
    for task in DIMENSIONS:
        totals: dict[str, int] = {}
        for (network, _, _), weights in layer_weights(task).items():
            totals[network] = totals.get(network, 0) + weights
        biases = {"actor": 706, "critic": 1402, "vae": 3030}
        for method, sparsity, seed in rows(("snip", "grasp")):
            for network, weights in totals.items():
                kept = round(weights * (1 - sparsity / 100))
                sizes = {
                    "dense": 4 * (weights + biases[network]) + 2700,
                    "coo": 20 * kept + 12 * biases[network] + 4000,
                    "packed_fp32": weights // 8 + 4 * (kept + biases[network]) + 400,
                    "packed_fp16": weights // 8 + 2 * (kept + biases[network]) + 400,
                }
                for form, size in sizes.items():
                    table.append((task, method, sparsity, seed, network, form, size))
    columns = ["task", "method", "sparsity_percent", "seed", "network", "format", "bytes"]
    return pd.DataFrame(table, columns=columns).assign(**MEASURED)


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
