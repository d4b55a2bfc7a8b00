"""A log without a simulator: what is held out of it, and the error by which policies are scored."""

import dataclasses

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from other_algorithms import TD3_BC
from sklearn.metrics import r2_score

from triptych.rl.acting.evaluation import EvaluationSettings, action_errors, evaluate
from triptych.rl.algorithms.networks import initialise
from triptych.rl.algorithms.registry import Bc, Widths
from triptych.rl.tasks.recording import DatasetError
from triptych.rl.tasks.task import ACTION_ERROR, task_from
from triptych.rl.tasks.transitions import Validation, prepare, read_transitions

ROBOT = task_from("robot", bounds=[-2, [2, 4]], validation=0.2)


def written(path, episodes=10, steps=7, actions=None):
    """A log in which every observation tells its episode."""
    rows, generator = episodes * steps, np.random.default_rng(0)
    with h5py.File(path, "w") as stream:
        stream["observations"] = np.repeat(np.arange(episodes), steps)[:, None].astype("f4")
        drawn = generator.uniform(-2, 2, (rows, 2)).astype("f4")
        stream["actions"] = drawn if actions is None else actions
        stream["rewards"] = np.ones(rows, "f4")
        stream["terminals"] = np.zeros(rows, bool)
        stream["timeouts"] = np.arange(rows) % steps == steps - 1
    return path


def prepared(folder, path, task=ROBOT):
    prepare(path, task, "path", folder / "t.safetensors", folder / "d.csv")
    return read_transitions(folder / "t.safetensors"), pd.read_csv(folder / "d.csv").iloc[0]


def test_no_held_out_episode_is_trained_on_and_none_is_lost(tmp_path):
    path = written(tmp_path / "log.hdf5")
    kept, row = prepared(tmp_path, path)
    trained, held = set(kept.observations.ravel()), set(kept.validation.observations.ravel())
    assert len(held) == row["held_out_episodes"] == 2
    assert trained.isdisjoint(held) and trained | held == set(range(10))
    np.testing.assert_array_equal(kept.observations, kept.next_observations)  # never a neighbour
    assert kept.validation.ends.tolist() == [6, 13]
    with h5py.File(path) as stream:
        logged = stream["actions"][:][np.isin(stream["observations"][:, 0], list(held))]
    np.testing.assert_allclose(kept.validation.actions, (logged - [0, 1]) / [2, 3], atol=1e-6)
    assert np.isnan(row["score_normalised_mean"]) and row["return_mean"] == 7


def test_the_error_is_one_less_r_squared():
    generator = np.random.default_rng(1)
    logged = generator.normal(size=(9000, 3)).astype("f4") * [1, 2, 3]
    held = Validation(np.zeros((9000, 2), "f4"), logged.astype("f4"), np.array([8999]))
    guesses = logged[None] + generator.normal(size=(2, 1, 3)) * [[[0.1]], [[1]]]
    place = iter(range(0, 9000, 4096))

    def act(states, latents):
        assert not latents.any() and latents.shape == (2, states.shape[1], 1, 6)
        first = next(place)
        return torch.as_tensor(guesses[:, first : first + states.shape[1]])

    frame = action_errors(act, torch.zeros(2, 1), held, lambda: None)
    expected = [1 - r2_score(logged, each, multioutput="variance_weighted") for each in guesses]
    np.testing.assert_allclose(frame["score_normalised"], expected, rtol=1e-5)
    assert set(frame["unit"]) == {ACTION_ERROR} and frame["return"].isna().all()


@pytest.mark.parametrize("name", ["BC", "BCQ", "TD3+BC"])
def test_policies_are_scored_by_episode_without_noise(tmp_path, bcq_settings, name):
    algorithm = {"BC": Bc(**vars(bcq_settings)), "BCQ": bcq_settings, "TD3+BC": TD3_BC}[name]
    kept, _ = prepared(tmp_path, written(tmp_path / "log.hdf5"))
    settings = EvaluationSettings(episodes=1, candidates=5, seed=0, task=ROBOT)
    settings = dataclasses.replace(settings, validation=kept.validation)
    parameters = initialise(Widths((8, 8), (8, 8), 8), 1, 2, [0, 1], type(algorithm))
    first, again = (evaluate(algorithm, parameters, seeds, settings) for seeds in ([0, 1], [5, 6]))
    pd.testing.assert_frame_equal(first, again)  # seeds key the noise, and there is none
    assert first[["policy", "episode", "steps"]].to_numpy().tolist() == [
        [0, 0, 7], [0, 1, 7], [1, 0, 7], [1, 1, 7]
    ]  # fmt: skip
    assert evaluate(algorithm, parameters, [0, 1], settings, lambda: True) is None


def test_a_log_of_one_episode_is_refused_by_name(tmp_path):
    path = written(tmp_path / "log.hdf5", episodes=1)
    with pytest.raises(DatasetError, match="timeouts: expected episodes enough to hold"):
        prepared(tmp_path, path)


def test_bounds_of_another_size_than_the_actions_are_refused(tmp_path):
    path = written(tmp_path / "log.hdf5")
    with pytest.raises(DatasetError, match="expected 3 columns for robot, found 2 columns"):
        prepared(tmp_path, path, task_from("robot", bounds=[-2, [2, 2, 2]]))
    with pytest.raises(DatasetError, match=r"actions: expected numbers in \[-1, 1\].*scale"):
        prepared(tmp_path, path, task_from("robot"))
