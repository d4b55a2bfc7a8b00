"""One number a run, and its summary over seeds."""

import numpy as np
import pandas as pd
import synthetic

from rl.scores import aggregate_over_tasks
from triptych.rl.report.scores import run_scores, summarise_scores
from triptych.rl.tasks.task import NORMALISED


def evaluations(curves: dict[tuple[str, int, int], list[float]]) -> pd.DataFrame:
    """Two episodes an evaluation, 1 below and 1 above the given score."""
    return pd.DataFrame(
        [
            (
                *("hopper", "normalised", method, sparsity, seed),
                *("BC", 100 * (i + 1), episode, 0.0, score + shift, 9, "default", NORMALISED),
            )
            for (method, sparsity, seed), curve in curves.items()
            for i, score in enumerate(curve)
            for episode, shift in enumerate((-1.0, 1.0))
        ],
        columns=list(synthetic.scores(seeds=[0], evaluations=1).columns),
    )


def test_a_run_scores_the_mean_of_its_last_policy_and_not_its_best():
    runs = run_scores(evaluations({("dense", 0, 0): [99.0, 10.0, 20.0]}))
    assert runs["score"].tolist() == [20.0]


def test_a_run_that_diverged_is_left_out_and_named(caplog):
    """Its earlier evaluations are good, but the score is that of the last ones."""
    curves = {("dense", 0, s): [5.0, 50.0, 70.0] for s in range(3)}
    frame = evaluations(curves)
    frame.loc[(frame["seed"] == 1) & (frame["update"] == 300), "score_normalised"] = np.nan
    runs = run_scores(frame)
    assert runs["seed"].tolist() == [0, 2]
    assert summarise_scores(runs)["seeds"].tolist() == [2]
    assert "it diverged: run (task hopper, observations normalised, method dense" in caplog.text


def test_summary_gives_mean_range_and_ratio():
    curves = {("dense", 0, 0): [100.0], ("dense", 0, 1): [96.0]}
    curves |= {("snip", 95, 0): [50.0], ("snip", 95, 1): [48.0]}
    summary = summarise_scores(run_scores(evaluations(curves))).set_index("method")
    snip = summary.loc["snip"]
    assert (snip["value"], snip["minimum"], snip["maximum"], snip["seeds"]) == (49, 48, 50, 2)
    assert (snip["ratio_low"], snip["ratio_to_dense"], snip["ratio_high"]) == (0.5, 0.5, 0.5)


def test_aggregate_leaves_out_cells_that_some_task_lacks():
    frame = synthetic.scores(methods=("snip",))
    frame = frame[~((frame["task"] == "hopper") & (frame["sparsity_percent"] == 90))]
    together = aggregate_over_tasks(run_scores(frame))
    assert 90 not in set(together["sparsity_percent"])
    assert {0, 50, 80, 95} <= set(together["sparsity_percent"])
