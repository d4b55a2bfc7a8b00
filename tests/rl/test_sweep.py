"""The experiment table: one row a run, stacks that stay put when a sweep grows."""

import pandas as pd
import pytest

from triptych.rl.tasks.sweep import KEYS, keys_of, runs_of

PAPER = {"methods": ["snip", "grasp"], "sparsities": [50, 95]}
CONTROLS = {"methods": ["random"], "sparsities": [95]}
RAW = {"observations": "raw", "methods": ["snip"], "sparsities": [95]}


def table(tasks=("hopper", "walker2d"), stack="all", sparsities=(50, 95), **changed):
    """Runs of a sweep of three parts and of a measured one."""
    runs = {"paper": PAPER | {"sparsities": [*sparsities]}, "controls": CONTROLS, "raw": RAW}
    sweep = {"algorithms": ["BCQ", "BC"], "widths": "narrow", "seeds": [0, 1], "runs": runs}
    measured = {"methods": ["snip"], "sparsities": [95]}
    config = {
        "tasks": {task: {} for task in tasks},
        "observations": "normalised",
        "sweeps": {"bcq": sweep},
        "runs_per_job": stack,
        "small_data": {"algorithms": []},
        "mask_statistics": {"widths": "paper", "seeds": [0, 1, 2], "runs": {"paper": measured}},
    }
    return pd.DataFrame(runs_of(config | changed))


def stacks(runs):
    return {
        (task, networks, stack): [keys_of(row) for row in rows.to_dict("records")]
        for (task, networks, stack), rows in runs.groupby(["task", "networks", "stack"])
    }


def test_every_combination_stands_once_with_the_dense_run_of_each_seed_and_way_of_seeing():
    runs = table()
    trained = runs[runs["trained"]]
    assert not trained.duplicated(list(KEYS)).any()
    assert trained.groupby(["observations", "method"]).size().to_dict() == {
        ("normalised", "dense"): 4,
        ("normalised", "grasp"): 8,
        ("normalised", "random"): 4,
        ("normalised", "snip"): 8,
        ("raw", "dense"): 4,
        ("raw", "snip"): 4,
    }
    assert set(runs[~runs["trained"]]["stack"]) == {"measured"}
    assert set(runs["task"]) == {"hopper", "walker2d"}


@pytest.mark.parametrize("stack", [1, 4])
def test_a_stack_has_one_task_one_sparsity_and_at_most_its_size(stack):
    runs = table(stack=stack)
    for rows in stacks(runs[runs["trained"]]).values():
        assert len(rows) <= stack
        assert len({row["sparsity_percent"] for row in rows}) == 1


def test_a_sparsity_added_to_the_sweep_leaves_the_other_stacks_as_they_were():
    before = stacks(table(stack=4))
    after = stacks(table(stack=4, sparsities=[50, 80, 95, 99.5]))
    assert before.items() <= after.items()
    assert {name[2] for name in after.keys() - before.keys()} == {"bcq-sp80-1", "bcq-sp99.5-1"}


def test_a_run_that_is_trained_and_measured_stands_in_both():
    runs = table(
        mask_statistics={"widths": "narrow", "seeds": [0, 1, 2], "runs": {"paper": CONTROLS}}
    )
    assert not runs.duplicated(["networks", "stack", *KEYS]).any()
    measured = runs[~runs["trained"] & (runs["task"] == "hopper")]
    assert len(measured) == 6  # three seeds: dense, and random at 95%


def test_small_data_are_a_stack_for_each_algorithm_and_number_of_transitions():
    small = {"algorithms": ["TD3+BC", "IQL"], "transitions": [100, 1000], "widths": "narrow"}
    runs = table(small_data=small | {"seeds": [0, 1], "methods": ["snip"]})
    few = runs[runs["first"] > 0]
    assert set(zip(few["stack"], few["first"], strict=True)) == {
        (f"small_{count}_{name}-all", count) for count in (100, 1000) for name in ("td3_bc", "iql")
    }
    assert set(few.groupby("stack").size()) == {2 * 2 * 2}  # tasks, dense and SNIP, seeds
    pd.testing.assert_frame_equal(runs[runs["first"] == 0].reset_index(drop=True), table())
