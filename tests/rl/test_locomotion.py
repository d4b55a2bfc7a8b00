"""The lock-step environments are gymnasium's, and the scores D4RL's."""

import warnings
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest

from triptych.rl.tasks.locomotion import TASKS, Locomotion
from triptych.rl.tasks.task import PAPER, SIZES, task_named


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


@pytest.mark.parametrize("task", ["hopper", "walker2d"])
@pytest.mark.parametrize("bound", ["height", "angle", "velocity"])
def test_terminates_where_gymnasium_does(
    task: str, bound: str, references: list[gymnasium.Env]
) -> None:
    """States set on either side of a bound, not only those that random actions reach."""
    environment = references[0]
    locomotion = Locomotion(task, 1)
    verdicts = set()
    index, values = {
        "height": (1, np.linspace(0.6, 2.3, 18)),
        "angle": (2, np.linspace(-1.2, 1.2, 25)),
        "velocity": (None, np.array([-130.0, -90.0, 0.0, 90.0, 130.0])),
    }[bound]
    for value in values:
        environment.reset(seed=0)
        qpos, qvel = environment.init_qpos.copy(), environment.init_qvel.copy()
        if index is None:
            qvel[-1] = value
        else:
            qpos[index] = value
        environment.set_state(qpos, qvel)
        locomotion.qpos[0], locomotion.qvel[0] = qpos, qvel
        assert locomotion._is_healthy()[0] == environment.is_healthy
        verdicts.add(bool(environment.is_healthy))
    # Walker2d has no bound on velocities; every other sweep crosses one.
    assert verdicts == ({True} if (task, bound) == ("walker2d", "velocity") else {True, False})


def test_an_episode_does_not_depend_on_its_neighbours(task: str) -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (40, SIZES[task][1]))
    alone, batch = Locomotion(task, 1), Locomotion(task, 4)
    alone.reset([9])
    batch.reset([1, 9, 2, 3])
    for action in actions:
        single, _, _ = alone.step(action[None])
        many, _, _ = batch.step(np.tile(action, (4, 1)) * [[0.1], [1.0], [0.3], [-1.0]])
        np.testing.assert_array_equal(many[1], single[0])


def test_scores_equal_d4rl(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("D4RL_SUPPRESS_IMPORT_ERROR", "1")
    infos = pytest.importorskip("d4rl.infos")
    name = f"{task}-expert-v2"
    assert PAPER[task].reference == (infos.REF_MIN_SCORE[name], infos.REF_MAX_SCORE[name])
    import d4rl

    returns = np.array([[-300.0, 0.0], [1234.5, 9000.0]])
    np.testing.assert_allclose(
        task_named(task).score(returns), 100 * d4rl.get_normalized_score(name, returns), rtol=1e-12
    )
