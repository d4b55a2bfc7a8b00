"""The experiment table: one row a run, a stack for each list of runs."""

import pandas as pd
import pytest

from triptych.rl.tasks.sweep import KEYS, keys_of, stacks_of

LISTS = {
    "paper": {"methods": ["snip", "grasp"], "sparsities": [50, 95]},
    "controls": {"methods": ["random"], "sparsities": [95]},
    "raw": {"observations": "raw", "methods": ["snip"], "sparsities": [95]},
}


def table(size="all", lists=LISTS):
    sweep = {"algorithms": ["BCQ", "BC"], "widths": "narrow", "seeds": [0, 1], "runs": lists}
    measured = {"paper": {"methods": ["snip"], "sparsities": [95]}}
    config = {
        "tasks": {"hopper": {}, "walker2d": {}},
        "observations": "normalised",
        "shown_sparsity": 95,
        "sweeps": {"bcq": sweep},
        "runs_per_job": size,
        "mask_statistics": {"widths": "paper", "seeds": [0, 1, 2], "runs": measured},
    }
    return pd.DataFrame([run for stack in stacks_of(config) for run in stack.runs])


def stacks(runs):
    return {
        (task, networks, stack): [keys_of(row) for row in rows.to_dict("records")]
        for (task, networks, stack), rows in runs.groupby(["task", "networks", "stack"])
    }


def test_every_combination_stands_once_with_the_dense_runs_of_each_kind_of_observations():
    trained = table()[table()["trained"]]
    assert not trained.duplicated(list(KEYS)).any()
    assert trained.groupby(["list", "observations", "method"]).size().to_dict() == {
        ("paper", "normalised", "dense"): 4,
        ("paper", "normalised", "grasp"): 8,
        ("paper", "normalised", "snip"): 8,
        ("controls", "normalised", "random"): 4,
        ("raw", "raw", "dense"): 4,
        ("raw", "raw", "snip"): 4,
    }
    assert set(table()["stack"]) == {"bcq-paper", "bcq-controls", "bcq-raw", "measured-paper"}


@pytest.mark.parametrize("size", ["all", 4])
def test_a_list_added_to_a_sweep_leaves_all_stacks_as_they_were(size):
    mine = {"methods": ["snip", "erk"], "sparsities": [95]}
    before, after = stacks(table(size)), stacks(table(size, {**LISTS, "mine": mine}))
    assert before.items() <= after.items()
    new = [row for key in after.keys() - before.keys() for row in after[key]]
    assert {row["method"] for row in new} == {"erk"} and len(new) == 4


@pytest.mark.parametrize("size", [1, 3])
def test_a_stack_of_many_jobs_has_one_sparsity_and_at_most_its_size(size):
    runs = table(size)
    for rows in stacks(runs[runs["trained"]]).values():
        assert len(rows) <= size
        assert len({row["sparsity_percent"] for row in rows}) == 1


def test_a_sparsity_added_to_a_list_leaves_its_other_stacks_as_they_were():
    more = LISTS["paper"] | {"sparsities": [50, 80, 95, 99.5]}
    before, after = stacks(table(4)), stacks(table(4, {**LISTS, "paper": more}))
    assert before.items() <= after.items()
    new = {name[2] for name in after.keys() - before.keys()}
    assert new == {"bcq-paper-sp80-1", "bcq-paper-sp99.5-1"}


def test_few_data_are_a_stack_of_their_own_with_its_dense_runs():
    few = {"max_transitions": 100, "methods": ["snip"], "sparsities": [95]}
    runs = table(lists={**LISTS, "few": few})
    own = runs[runs["max_transitions"] == 100]
    assert set(own["stack"]) == {"bcq-few"} and set(own["method"]) == {"dense", "snip"}
    assert len(own) == 2 * 2 * 2  # tasks, methods, seeds
