"""Tasks that config names: any environment of gymnasium's, its bounds, its scores."""

import gymnasium
import numpy as np
import pytest
from recorded_files import prepared, written

from triptych.rl.tasks.environments import GymnasiumEpisodes, episodes_of, spaces_of
from triptych.rl.tasks.locomotion import Locomotion
from triptych.rl.tasks.task import NORMALISED, OWN, PAPER, task_from, task_named

PENDULUM = task_from("pendulum", "Pendulum-v1")


def test_episodes_equal_gymnasium_stepped_one_at_a_time():
    """Actions in [-1, 1] are torques in [-2, 2]; an episode ends at the time limit of 200."""
    episodes, generator = GymnasiumEpisodes(PENDULUM, 2), np.random.default_rng(0)
    actions = generator.uniform(-1, 1, (200, 2, 1))
    observations = [episodes.reset([3, 4])]
    rewards, ended = [], []
    for step in actions:
        seen, paid, over = episodes.step(step, np.array([True, False]))
        observations.append(seen)
        rewards.append(paid)
        ended.append(over)
    alone = gymnasium.make("Pendulum-v1")
    np.testing.assert_array_equal(observations[0][0], alone.reset(seed=3)[0])
    for step, (seen, paid) in enumerate(zip(observations[1:-1], rewards, strict=False)):
        expected, reward, *_ = alone.step((2 * actions[step, 0]).astype(np.float32))
        np.testing.assert_allclose(seen[0], expected, rtol=1e-6)
        assert paid[0] == pytest.approx(reward)
    assert not np.any(rewards, axis=0)[1]
    assert [bool(over[0]) for over in ended] == [False] * 199 + [True]
    assert not np.any(ended, axis=0)[1]


def test_sizes_and_bounds_are_the_environments():
    spaces = spaces_of(PENDULUM)
    assert (spaces.observation_size, spaces.action_size, spaces.horizon) == (3, 1, 200)
    assert (spaces.low.tolist(), spaces.high.tolist()) == ([-2], [2])
    actions = np.array([[-2], [0], [1], [2]], np.float32)
    assert spaces.narrowed(actions).ravel().tolist() == [-1, 0, 0.5, 1]
    np.testing.assert_array_equal(spaces.widened(spaces.narrowed(actions)), actions)


def test_the_papers_tasks_have_the_bounds_of_gymnasium():
    for name, task in PAPER.items():
        spaces, theirs = spaces_of(task_named(name)), gymnasium.make(task.environment)
        assert theirs.observation_space.shape == (spaces.observation_size,)
        assert theirs.action_space.low.tolist() == spaces.low.tolist()
        assert theirs.action_space.high.tolist() == spaces.high.tolist()


def test_recorded_actions_are_scaled_to_the_environments_bounds(tmp_path):
    actions = np.linspace(-2, 2, 450)[:, None]
    columns = {
        "observations": np.random.default_rng(0).normal(size=(450, 3)).astype("f4"),
        "actions": actions.astype("f4"),
        "rewards": np.full(450, -2, "f4"),
        "terminals": np.zeros(450, bool),
        "timeouts": np.arange(450) % 200 == 199,
    }
    kept = prepared(written(tmp_path / "mine.hdf5", columns), PENDULUM)
    rows = np.delete(np.arange(449), [199, 399])
    np.testing.assert_allclose(kept.actions, actions[rows] / 2, atol=1e-6)
    header, row = (tmp_path / "mine.csv").read_text().splitlines()
    found = dict(zip(header.split(","), row.split(","), strict=True))
    # 200, 200 and 50 steps of -2; without references the score is the return.
    assert float(found["return_mean"]) == float(found["score_normalised_mean"]) == -300
    assert found["timeouts"] == "2"


def test_a_score_lies_between_the_references_of_config():
    task = task_from("ant", "Ant-v5", [-100, 300])
    assert task.unit == OWN and PENDULUM.unit == "return"
    assert task.score(np.array([-100, 0, 300])).tolist() == [0, 25, 100]
    assert PENDULUM.score(-7.5) == -7.5


def test_one_of_the_papers_environments_has_its_references_under_any_name():
    assert task_from("hopper") is PAPER["hopper"]
    task = task_from("hopper_medium", "Hopper-v4")
    assert (task.reference, task.inputs) == (PAPER["hopper"].reference, PAPER["hopper"].inputs)
    assert task.unit == task_from("mine", "Hopper-v4", task.reference).unit == NORMALISED
    assert isinstance(episodes_of(task, 1), Locomotion)
    own = task_from("mine", "Hopper-v4", [0, 1])
    assert (own.reference, own.unit) == ((0, 1), OWN)
    assert task_from("mine", "Hopper-v4", options={"healthy_reward": 2.0}).reference is None
