"""Experts: rolled out as gymnasium would, kept exactly; the shipped ones walk."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from triptych.rl.experts import LinearPolicy, read_expert, roll_out, write_expert
from triptych.rl.locomotion import TASKS, Locomotion, normalised_score

SHIPPED = Path(__file__).parents[2] / "resources" / "experts"
PROMISED = {"hopper": 95.0, "walker2d": 80.0, "halfcheetah": 40.0}


def test_roll_out_sums_what_gymnasium_pays() -> None:
    """The returns of episodes of unequal length, against one environment at a time."""
    gymnasium = pytest.importorskip("gymnasium")
    policy = LinearPolicy(np.random.default_rng(2).normal(size=(3, 11)), np.zeros(11), np.ones(11))
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


def test_written_policy_is_read_back_exactly(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    policy = LinearPolicy(
        generator.normal(size=(3, 11)), generator.normal(size=11), generator.random(11) + 0.1
    )
    write_expert(tmp_path / "p.json", "hopper", policy, {}, {})
    again = read_expert(tmp_path / "p.json", "hopper")
    for key, value in vars(policy).items():
        np.testing.assert_array_equal(getattr(again, key), value)


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    policy = LinearPolicy(np.zeros((3, 11)), np.zeros(11), np.ones(11))
    path = tmp_path / "p.json"
    write_expert(path, "hopper", policy, {}, {})
    with pytest.raises(ValueError, match=r"policy for hopper .* walker2d was asked"):
        read_expert(path, "walker2d")
    path.write_text("{}")
    with pytest.raises(ValueError, match="not an expert's file"):
        read_expert(path, "hopper")


@pytest.mark.parametrize("task", sorted(TASKS))
def test_shipped_expert_scores_what_its_file_says(task: str) -> None:
    """Ten of the fifty measured episodes, on this machine's engine."""
    path = SHIPPED / f"{task}.json"
    measured = json.loads(path.read_text())["measured"]
    assert measured["score_normalised_mean"] >= PROMISED[task]
    first = measured["first_seed"]
    returns, _ = roll_out(Locomotion(task, 10), read_expert(path, task), range(first, first + 10))
    assert normalised_score(task, returns).mean() == pytest.approx(
        measured["score_normalised_mean"], abs=max(5.0, 2 * measured["score_normalised_std"])
    )
