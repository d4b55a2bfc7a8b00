"""Verdicts on the offline-RL claims: runs made to satisfy, to break or not to test them."""

from dataclasses import replace

import numpy as np
import pytest
from paper_runs import paper_run, said, scaled, without

from triptych.report.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, SEEN
from triptych.report.statistics import Interval
from triptych.rl.report.claims import keeps, loses

SPARSE = ["torch CSR", "policy.c"]
OF = {"sparsity_percent": 95, "algorithm": "BC"}
BCQ = {"sparsity_percent": 95, "algorithm": "BCQ"}
SCORE = "score_normalised"
BROKEN = [
    (
        *("rl-bc-95", "rl_scores", scaled(SCORE, 0.8, task="walker2d", method="grasp", **OF)),
        "Walker2d GraSP does not keep its score.",
    ),
    (
        *("rl-bcq-95", "rl_scores", scaled(SCORE, 2.1, task="hopper", method="snip", **BCQ)),
        "Hopper SNIP does not lose its score.",
    ),
    (
        *("rl-consistent", "rl_scores"),
        scaled(SCORE, 0.8, task="hopper", method="snip", sparsity_percent=30, algorithm="BC"),
        "BC on Hopper SNIP at 30% does not keep its score",
    ),
    (
        *("rl-other-prunings", "rl_varied", scaled(SCORE, 1.1, pruning="iterated")),
        "BC SNIP by 10 iterations scores more",
    ),
    (
        *("rl-similar-pattern", "rl_layers"),
        scaled("kept", 0.01, task="hopper", method="grasp", group="actor", layer="l3"),
        "Opposite orders: layers 1 and 3 of the actor on Hopper",
    ),
    (
        *("rl-last-layer", "rl_layers"),
        lambda frame: frame.replace({"method": {"snip": "grasp", "grasp": "snip"}}),
        "GraSP keeps less than SNIP in the actor",
    ),
    ("rl-memory-4x", "rl_sizes", scaled("bytes", 2, format="coo", method="snip"), "SNIP 1.8"),
    (
        *("rl-sparse-inference", "rl_latency", said("microseconds_median", 15.0, kernel=SPARSE)),
        "0.77 times as fast as dense",  # though faster than one of the two dense ones
    ),
    (
        *("rl-ours-sensors", "rl_scores", scaled(SCORE, 4, observations="raw", **OF)),
        "Hopper SNIP does not gain more than the dense network",
    ),
    (
        *("rl-ours-shuffled", "rl_scores", scaled(SCORE, 2, method="shuffled")),
        "SNIP against Shuffled SNIP: worse.",
    ),
    (
        *("rl-ours-small-data", "rl_small", scaled(SCORE, 0.5, method="snip", algorithm="IQL")),
        "IQL by SNIP does not score more than dense",
    ),
    (
        "rl-ours-sparse-training",
        "rl_latency",
        scaled("microseconds_median", 1.2, part="BCQ update", kernel="torch embedding_bag"),
        "2.38 times as fast as dense",
    ),
]
FOUND = [
    ("rl-bc-95", "rl_datasets", said("transitions", 99_900, task="walker2d"), "(99,900 here)"),
    ("rl-last-layer", "rl_datasets", said("transitions", 99_900, task="hopper"), "(99,900 here)"),
    (
        *("rl-bcq-95", "rl_scores"),
        said(SCORE, np.nan, task="hopper", method="snip", seed=2, **BCQ),
        "5 seeds of every task and method (4 here)",
    ),
    ("rl-consistent", "rl_scores", without(sparsity_percent=10, task="hopper"), "BC 10, BCQ 10"),
    ("rl-similar-pattern", "rl_layers", without(group="decoder"), "missing: vae d1"),
    ("rl-sparse-inference", "rl_latency", without(kernel="numpy dense"), "missing: numpy dense"),
    ("rl-sparse-inference", "rl_latency", without(kernel=SPARSE), "actor timed at batch 1"),
    ("rl-ours-sparse-training", "rl_latency", without(part="BC update"), "missing: BC update"),
]
"""What only a run can know."""


@pytest.fixture(scope="module")
def run():
    return paper_run("rl")


def test_the_papers_own_run_reproduces_every_claim(run):
    verdicts = run.verdicts("rl")
    assert {each.verdict for each in verdicts.values()} == {REPRODUCED}
    # 4 n + ... over 20 n / 20: a little under four for every network.
    assert "Actor: dense, sparsely indexed 4.97" in verdicts["rl-memory-4x"].measured
    assert "policy.c 1.76" in verdicts["rl-sparse-inference"].measured


@pytest.mark.parametrize(("claim", "name", "change", "reason"), BROKEN)
def test_a_run_that_contradicts_a_claim_does_not_reproduce_it(run, claim, name, change, reason):
    verdict = run.changed(name, change).verdicts("rl", claim)[claim]
    assert verdict.verdict == NOT_REPRODUCED
    assert reason in verdict.reason


@pytest.mark.parametrize(("claim", "name", "change", "reason"), FOUND)
def test_what_a_run_lacks_in_spite_of_its_config_is_found(run, claim, name, change, reason):
    verdict = run.changed(name, change).verdicts("rl", claim)[claim]
    assert verdict.verdict == (SEEN if claim == "rl-bc-95" else NOT_TESTABLE)
    assert reason in verdict.reason


@pytest.mark.parametrize(("became", "word"), [("float32", REPRODUCED), ("bf16", SEEN)])
def test_the_precision_that_auto_became_counts(run, became, word):
    auto = run.configured("rl.training.precision", "auto")
    assert auto.verdicts("rl", "rl-bc-95")["rl-bc-95"].verdict == SEEN  # nobody knows
    chosen = replace(auto, became={"rl_train": {became}})
    assert chosen.verdicts("rl", "rl-bc-95")["rl-bc-95"].verdict == word


def test_tasks_whose_dense_policy_learned_nothing_are_not_judged(run):
    def judged(claim, change):
        return run.changed("rl_scores", change).verdicts("rl", claim)[claim]

    dense = {"method": "dense", "algorithm": "BC"}
    one = judged("rl-bc-95", scaled(SCORE, 0.5, task="hopper", **dense))
    assert one.verdict == SEEN and "BC on Hopper does not reach 90%" in one.reason
    assert "Hopper" not in one.measured
    two = judged("rl-bc-95", scaled(SCORE, 0.5, task=["hopper", "walker2d"], **dense))
    assert two.verdict == NOT_TESTABLE
    without_bcq = judged("rl-bcq-95", without(algorithm="BCQ"))
    assert without_bcq.verdict == NOT_TESTABLE
    assert "BCQ on Hopper was not run" in without_bcq.reason and "reach" not in without_bcq.reason
    unsteady = judged("rl-bc-95", scaled(SCORE, 1.3, task="hopper", seed=0, **dense))
    assert "points from seed to seed" in unsteady.reason


def test_an_interval_that_holds_the_limit_decides_for_neither_side():
    wide = Interval(0.85, 0.6, 1.1)
    assert keeps(wide) == loses(wide) == 0
    assert keeps(Interval(0.95, 0.9, 1.0)) == 1 == loses(Interval(0.85, 0.7, 0.99))
