"""Augmented random search: its arithmetic, that it learns, repeats itself and resumes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped
from triptych.rl.random_search import (
    ArsSettings,
    RunningMoments,
    Search,
    train_expert,
    update_direction,
)

SHORT = ArsSettings(
    seeds=(0, 1),
    trial_iterations=2,
    iterations=4,
    directions=4,
    top=2,
    step_size=0.02,
    step_size_after=0.01,
    noise=0.03,
    noise_after=0.02,
    survival_bonus=1.0,
    evaluate_every=1,
    evaluation_episodes=2,
)


def test_update_follows_the_best_directions_only() -> None:
    """By hand: two of three directions count, the sum is over b times the deviation of 2b."""
    deltas = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[5.0, 5.0]]])
    plus, minus = np.array([4.0, 1.0, 2.0]), np.array([2.0, 3.0, 2.5])
    # max(plus, minus) = 4, 3, 2.5: the first two; rewards 4, 1, 2, 3, deviation sqrt(1.25).
    expected = np.array([[2.0, -2.0]]) / (2 * np.sqrt(1.25))
    np.testing.assert_allclose(update_direction(deltas, plus, minus, 2), expected)


def test_update_is_the_gradient_of_a_linear_reward_in_direction() -> None:
    """With all directions used, the update points along the gradient in expectation."""
    generator = np.random.default_rng(0)
    gradient = generator.normal(size=(2, 3))
    deltas = generator.normal(size=(20_000, 2, 3))
    reward = (deltas * gradient).sum(axis=(1, 2))
    update = update_direction(deltas, reward, -reward, 20_000)
    cosine = (update * gradient).sum() / np.linalg.norm(update) / np.linalg.norm(gradient)
    assert cosine > 0.999


def test_equal_rewards_leave_the_weights() -> None:
    deltas = np.ones((2, 1, 1))
    assert update_direction(deltas, np.ones(2), np.ones(2), 2) == 0.0


def test_running_moments_equal_numpy() -> None:
    generator = np.random.default_rng(1)
    batches = [generator.normal(3.0, 2.0, size=(size, 4)) for size in (5, 1, 40)]
    moments = RunningMoments.of_size(4)
    assert moments.scale().tolist() == [1.0] * 4
    for batch in batches:
        batch[:, 3] = 7.0
        moments.add(batch)
    everything = np.concatenate(batches)
    np.testing.assert_allclose(moments.mean(), everything.mean(axis=0))
    np.testing.assert_allclose(moments.scale()[:3], everything.std(axis=0)[:3])
    assert moments.scale()[3] == 1.0


def test_search_learns_to_hop() -> None:
    settings = replace(SHORT, iterations=12, trial_iterations=12, directions=8, top=4)
    search = Search.start("hopper", settings, seed=2)
    search.run(12)
    assert search.best_return > 3 * search.curve[0][1] or search.best_return > 150
    assert search.environment_steps > 0


class StopAfter:
    """A wish to stop that comes up when it has been asked about `questions` times."""

    def __init__(self, questions: int) -> None:
        self._left = questions

    @property
    def reason(self) -> str | None:
        self._left -= 1
        return "a test" if self._left == 0 else None


@pytest.mark.parametrize("evaluations", [1, 3, 5])
def test_a_search_that_is_stopped_and_resumed_gives_the_same_file(
    tmp_path: Path, evaluations: int
) -> None:
    """Stopped in the first trial, in the second one, and after the trials."""
    train_expert("hopper", SHORT, tmp_path / "whole.json")
    checkpoint = Checkpoint(tmp_path / "checkpoint", "fingerprint")
    with pytest.raises(Stopped):
        train_expert("hopper", SHORT, tmp_path / "parts.json", checkpoint, StopAfter(evaluations))
    assert not (tmp_path / "parts.json").exists()
    train_expert("hopper", SHORT, tmp_path / "parts.json", checkpoint)
    assert (tmp_path / "parts.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_refining_keeps_the_standardisation_and_goes_back_when_the_gait_is_lost() -> None:
    search = Search.start("hopper", SHORT, seed=0)
    search.run(2)
    before = search.kept_policy()
    search.best_return = 1e6
    search.refine(4)
    np.testing.assert_array_equal(search.weights, before.weights)
    search.best_return = -1e6
    search.refine(5)
    after = search.kept_policy()
    assert not np.array_equal(after.weights, before.weights)
    np.testing.assert_array_equal(after.observation_mean, before.observation_mean)
    np.testing.assert_array_equal(after.observation_scale, before.observation_scale)


def test_training_repeats_itself_and_continues_the_best_seed(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        train_expert("hopper", SHORT, tmp_path / name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    training = json.loads((tmp_path / "a.json").read_text())["training"]
    trial = training["trial_returns"]
    assert trial[str(training["seed_continued"])] == max(trial.values())
    assert set(trial) == {"0", "1"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": ()}, "seeds is empty"),
        ({"top": 9}, "top is 9"),
        ({"trial_iterations": 9}, "trial_iterations"),
    ],
)
def test_senseless_settings_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SHORT, **change)
