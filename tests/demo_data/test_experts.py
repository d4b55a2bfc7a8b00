"""Experts: rolled out as gymnasium would, kept exactly; the shipped ones walk."""

import json
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from policies import random_expert

from triptych.demo.experts import LAYERS, read_expert, roll_out, write_expert
from triptych.rl.locomotion import TASKS, Locomotion
from triptych.rl.tasks import task_named

SHIPPED = Path(__file__).parents[2] / "resources" / "experts"
PROMISED = {"hopper": 95.0, "walker2d": 80.0, "halfcheetah": 40.0}


def test_roll_out_sums_what_gymnasium_pays() -> None:
    """The returns of episodes of unequal length, against one environment at a time."""
    policy = random_expert(11, 3)
    returns, lengths = roll_out(Locomotion("hopper", 3), policy, [4, 5, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        environment = gymnasium.make("Hopper-v4")
    for index, seed in enumerate([4, 5, 6]):
        observation, _ = environment.reset(seed=seed)
        total, steps, over = 0.0, 0, False
        while not over:
            action = policy(observation[None])[0]
            observation, reward, terminated, truncated, _ = environment.step(action)
            total, steps, over = total + reward, steps + 1, terminated or truncated
        assert returns[index] == pytest.approx(total, abs=1e-9)
        assert lengths[index] == steps
    environment.close()


def test_a_written_policy_is_read_back_exactly(tmp_path: Path) -> None:
    policy = random_expert(11, 3)
    write_expert(tmp_path / "p.safetensors", policy)
    again = read_expert(tmp_path / "p.safetensors", "hopper")
    for layer in LAYERS:
        np.testing.assert_array_equal(again.weights[layer], policy.weights[layer])
        np.testing.assert_array_equal(again.biases[layer], policy.biases[layer])


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    write_expert(path, random_expert(11, 3))
    with pytest.raises(ValueError, match="maps 11 observations to 3 actions, but walker2d"):
        read_expert(path, "walker2d")
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="not an expert's file"):
        read_expert(path, "hopper")


@pytest.mark.parametrize("task", sorted(TASKS))
def test_a_shipped_expert_scores_what_its_record_says(task: str) -> None:
    """Ten of the fifty measured episodes, on this machine's engine."""
    measured = json.loads((SHIPPED / f"{task}.json").read_text())["measured"]
    assert measured["score_normalised_mean"] >= PROMISED[task]
    first = measured["first_seed"]
    policy = read_expert(SHIPPED / f"{task}.safetensors", task)
    returns, _ = roll_out(Locomotion(task, 10), policy, range(first, first + 10))
    assert task_named(task).score(returns).mean() == pytest.approx(
        measured["score_normalised_mean"], abs=max(5.0, 2 * measured["score_normalised_std"])
    )
