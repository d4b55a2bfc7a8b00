"""Where data are few: what is compared, by numbers worked out by hand."""

from types import SimpleNamespace

import numpy as np
from scipy import stats
from synthetic import few_scores

from rl.small_data import numbers
from triptych.rl.report.claims import sparsity_helps
from triptych.rl.report.scores import run_scores


def judged(gain):
    return sparsity_helps.judge(SimpleNamespace(small=run_scores(few_scores(gain))))


def test_a_cell_is_of_one_number_of_transitions():
    long = numbers(run_scores(few_scores(lambda seed: seed)))
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
