"""Where data are few: what is compared, by numbers worked out by hand."""

from types import SimpleNamespace

import numpy as np
from scipy import stats
from synthetic import few_scores

from triptych.rl.report.claims_facts import small_facts
from triptych.rl.report.claims_scores import sparsity_helps
from triptych.rl.report.scores import run_scores, small_long

TASKS = ("hopper", "walker2d", "halfcheetah")


def judged(gain):
    return sparsity_helps(SimpleNamespace(small=run_scores(few_scores(gain))))


def test_a_cell_is_of_one_number_of_transitions():
    long = small_long(run_scores(few_scores(lambda seed: seed)))
    cells = long.query("task == 'hopper' and algorithm == 'IQL' and method == 'snip'")
    assert dict(zip(cells["trained_on"], cells["value"], strict=True)) == {
        1000: 21.5,
        100_000: 20.5,
    }


def test_the_claim_is_judged_on_few_transitions_alone():
    finding = judged(lambda seed: 5 + seed)
    assert not finding.failures and not finding.unclear
    half = stats.t.ppf(0.975, 2) / np.sqrt(3)
    assert f"IQL [{6 - half:+.1f}, {6 + half:+.1f}]" in finding.interval
    assert "TD3+BC +6.0 (dense 20.5)" in finding.measured


def test_it_fails_where_pruned_scores_less_and_is_unclear_where_the_interval_holds_zero():
    worse, noisy = judged(lambda seed: -5 - seed), judged(lambda seed: 9 * (seed - 1))
    assert len(worse.failures) == 2 and len(noisy.unclear) == 2


def test_its_facts_name_the_algorithms_and_tasks_that_were_run_both_ways_on_few():
    runs = run_scores(few_scores(lambda seed: 0, algorithms=("IQL",)))
    assert small_facts(runs) == {f"IQL {task}" for task in TASKS}
    assert not small_facts(runs[runs["trained_on"] > 1000])
    assert not small_facts(runs[runs["method"] == "snip"])
