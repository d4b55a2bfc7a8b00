"""The lock-step environments are gymnasium's, and the scores D4RL's."""

import warnings
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest

from triptych.rl.tasks.locomotion import TASKS, Locomotion
from triptych.rl.tasks.task import PAPER, task_named


@pytest.fixture(params=sorted(TASKS))
def task(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def references(task: str) -> Iterator[list[gymnasium.Env]]:
    """Three gymnasium environments of the task, without the time limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        environments = [gymnasium.make(PAPER[task].environment).unwrapped for _ in range(3)]
    yield environments
    for environment in environments:
        environment.close()


def test_steps_equal_gymnasium_through_many_episodes(
    task: str, references: list[gymnasium.Env]
) -> None:
    """A few hundred steps with a reset at each termination; actions are partly out of bounds."""
    generator = np.random.default_rng(3)
    seeds = [5, 6, 7]
    locomotion = Locomotion(task, 3)
    terminations = 0
    for _ in range(4):
        observations = locomotion.reset(seeds)
        expected = [env.reset(seed=seed)[0] for env, seed in zip(references, seeds, strict=True)]
        np.testing.assert_array_equal(observations, expected)
        active = np.ones(3, dtype=bool)
        for _ in range(150):
            actions = generator.uniform(-1.3, 1.3, (3, locomotion.action_size))
            before = locomotion.qpos.copy()
            observations, rewards, terminals = locomotion.step(actions, active)
            for index, environment in enumerate(references):
                if not active[index]:
                    assert rewards[index] == 0.0
                    assert not terminals[index]
                    np.testing.assert_array_equal(locomotion.qpos[index], before[index])
                    continue
                observation, reward, terminated, _, _ = environment.step(actions[index])
                np.testing.assert_allclose(observations[index], observation, rtol=0, atol=1e-12)
                assert rewards[index] == pytest.approx(reward, abs=1e-12)
                assert terminals[index] == terminated
                np.testing.assert_allclose(
                    locomotion.qvel[index], environment.data.qvel, rtol=0, atol=1e-12
                )
            terminations += int(terminals.sum())
            active &= ~terminals
        seeds = [seed + 10 for seed in seeds]
    assert terminations == (0 if task == "halfcheetah" else 12)


def test_scores_equal_d4rl(task: str) -> None:
    infos = pytest.importorskip("d4rl.infos")
    name = f"{task}-expert-v2"
    assert PAPER[task].reference == (infos.REF_MIN_SCORE[name], infos.REF_MAX_SCORE[name])
    import d4rl

    returns = np.array([[-300.0, 0.0], [1234.5, 9000.0]])
    np.testing.assert_allclose(
        task_named(task).score(returns), 100 * d4rl.get_normalized_score(name, returns), rtol=1e-12
    )
