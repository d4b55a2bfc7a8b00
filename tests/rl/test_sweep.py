"""The experiment table: one row a run, stacks that stay put when a sweep grows."""

import pytest

from triptych.rl.sweep import KEYS, Grid, experiment_table, run_records

SWEEP = Grid("narrow", ["snip", "grasp"], [50, 95], [0, 1], ["random"], [95])
MEASURE = Grid("paper", ["snip"], [95], [0, 1, 2])


def stacks(table):
    return {
        (task, networks, stack): run_records(rows)
        for (task, networks, stack), rows in table.groupby(["task", "networks", "stack"])
    }


def test_every_combination_stands_once_with_the_dense_run_of_each_seed():
    table = experiment_table(["hopper", "walker2d"], SWEEP, MEASURE, 4)
    trained = table[table["trained"]]
    assert len(trained) == 2 * (2 + 2 * 2 * 2 + 2)
    assert not trained.duplicated(list(KEYS)).any()
    assert trained.groupby("method").size().to_dict() == {
        "dense": 4,
        "grasp": 8,
        "random": 4,
        "snip": 8,
    }
    assert set(table[~table["trained"]]["stack"]) == {"measured"}


@pytest.mark.parametrize("stack", [1, 3, 4, 100])
def test_a_stack_has_one_task_one_sparsity_and_at_most_its_size(stack):
    table = experiment_table(["hopper", "walker2d"], SWEEP, MEASURE, stack)
    for rows in stacks(table[table["trained"]]).values():
        assert len(rows) <= stack
        assert len({row["sparsity_percent"] for row in rows}) == 1


def test_a_sparsity_added_to_the_sweep_leaves_the_other_stacks_as_they_were():
    wider = Grid("narrow", ["snip", "grasp"], [50, 80, 95, 99], [0, 1], ["random"], [95])
    before = stacks(experiment_table(["hopper"], SWEEP, MEASURE, 4))
    after = stacks(experiment_table(["hopper"], wider, MEASURE, 4))
    assert before.items() <= after.items()


def test_a_stack_of_all_holds_every_trained_run_of_a_task():
    table = experiment_table(["hopper", "walker2d"], SWEEP, MEASURE, "all")
    trained = table[table["trained"]]
    assert trained.groupby(["task", "stack"]).ngroups == 2


def test_a_run_of_both_grids_is_trained_once_and_measured_without_training():
    both = Grid("narrow", ["snip"], [95], [0, 1, 2])
    table = experiment_table(["hopper"], SWEEP, both, "all")
    assert not table.duplicated(["networks", "stack", *KEYS]).any()
    assert len(table[~table["trained"]]) == 6  # three seeds: dense, and SNIP at 95%
    assert set(table[table["trained"]]["stack"]) == {"all"}
