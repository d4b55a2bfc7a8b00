"""Environments of the user's own: tried before a training, and held against their recordings."""

import fcntl

import gymnasium
import h5py
import numpy as np
import pandas as pd
import pytest
from gymnasium.spaces import Box
from recorded_files import prepared, written

from rl.datasets import table
from triptych.core.errors import InputError
from triptych.core.files import sha256_of
from triptych.rl.acting.evaluation import EvaluationSettings, evaluate
from triptych.rl.algorithms.td3_bc import Td3Bc
from triptych.rl.networks.algorithm import Widths
from triptych.rl.tasks.environments import episodes_of, try_environment
from triptych.rl.tasks.task import task_from
from triptych.rl.tasks.transitions import DatasetError, read_horizon

NAN = float("nan")


class Point(gymnasium.Env):
    """A point that remembers its actions and refuses those outside its space."""

    def __init__(self, low=(-1.0,), high=(1.0,), dtype="float32", length=30, **faults):
        low, high = (np.array(bound, dtype) for bound in (low, high))
        self.action_space = faults.get("actions") or Box(low, high, dtype=dtype)
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float32)
        self.length, self.faults, self.seen = length, faults, []
        if faults.get("broken") == "made":
            raise FileNotFoundError("no robot.xml")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        if self.faults.get("broken") == "reset":
            raise RuntimeError("the motor is off")
        return self.faults.get("reset", (self.observation(), {}))

    def observation(self):
        found = self.faults.get("observation", self.np_random.normal(size=2))
        return found() if callable(found) else found

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.seen.append(action)
        self.steps += 1
        if self.faults.get("broken") == self.steps:
            raise ZeroDivisionError("the sensor counts nothing")
        reward = self.faults.get("reward", np.array([1.0]))
        return self.observation(), reward, np.bool_(self.steps == self.length), False, {}


gymnasium.register("Point-v0", Point)
gymnasium.register("Limited-v0", Point, max_episode_steps=20)


def task(name="Point-v0", **options):
    return task_from("mine", name, options=options)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize(("low", "high"), [([-0.1], [0.3]), ([-np.pi, 0.7, 1e-3], [1 / 3, 0.7, 8])])
def test_no_action_leaves_the_space_of_its_environment(low, high, dtype):
    """Also where low + (high - low) isn't high by rounding, and where a joint is locked."""
    episodes = episodes_of(task(low=low, high=high, dtype=dtype, length=10**6), 1)
    episodes.reset([0])
    generator = np.random.default_rng(0)
    drawn = [generator.uniform(-1.1, 1.1, (1, len(low))) for _ in range(300)]
    actions = [np.full((1, len(low)), way) for way in (-1, 1, 5)] + drawn
    for action in actions:
        episodes.step(action, np.ones(1, bool))
    seen = np.array(episodes._environments[0].unwrapped.seen, np.float64)
    ends = np.array([low, high, high], dtype).astype(np.float64)
    np.testing.assert_array_equal(seen[:3], ends)
    share = (np.clip(drawn, -1, 1)[:, 0] + 1) / 2
    expected = ends[0] + share * (ends[1] - ends[0])
    np.testing.assert_allclose(seen[3:], expected, atol=8 * np.finfo(dtype).eps)


FAULTS = {
    "whole numbers": ({"actions": Box(-1, 1, (1,), np.int64)}, "int64.*expected real numbers"),
    "the largest number": ({"actions": Box(-3.4e38, 3.4e38, (1,))}, "smaller than"),
    "no upper bound": ({"actions": Box(0, np.inf, (1,))}, "expected bounds on both sides"),
    "a picture": ({"actions": Box(0, 1, (2, 2))}, "its actions.*a Box of one axis"),
    "not made": ({"broken": "made"}, "FileNotFoundError: no robot.xml"),
    "not reset": ({"broken": "reset"}, "its reset raised RuntimeError: the motor is off"),
    "gym's own reset": (
        {"reset": np.zeros(3)},
        "reset raised .*; expected an observation and a dict",
    ),
    "another shape": ({"observation": np.zeros(3)}, r"shape \(3,\); expected its space's, \(2,\)"),
    "NaN observed": ({"observation": np.array([0, NAN])}, "an observation is .*finite"),
    "a step that fails": ({"broken": 7}, "its step raised ZeroDivisionError: the sensor .*line"),
    "NaN paid": ({"reward": NAN}, "a step's reward is nan; expected finite"),
    "two rewards": ({"reward": np.ones(2)}, "its step raised ValueError"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_an_environment_that_would_fail_is_refused_before_a_training(kind):
    options, message = FAULTS[kind]
    start = r"config: rl\.tasks\.mine\.environment is 'Point-v0': "
    with pytest.raises(InputError, match=f"{start}.*{message}"):
        try_environment(task(**options))


def evaluated(settings):
    """One policy's evaluation."""
    table = {"alpha": 2.5, "policy_noise": 0.2, "noise_clip": 0.5, "discount": 0.99}
    algorithm = Td3Bc(**table, policy_freq=2)
    widths = Widths((4, 4), (4, 4), 4)
    return evaluate(algorithm, Td3Bc.initialise(widths, 2, 1, [0]), [0], settings, 1, True)


def columns(lengths, ends="terminals", rows=None):
    """Columns of a recording whose episodes have these lengths; rows: others than their sum."""
    rows = rows or sum(lengths)
    generator = np.random.default_rng(0)
    marks = np.zeros(rows, bool)
    marks[np.cumsum(lengths) - 1] = True
    made = {"observations": generator.normal(size=(rows, 2)).astype("f4")}
    made |= {"actions": generator.uniform(-1, 1, (rows, 1)).astype("f4")}
    made |= {"rewards": np.ones(rows, "f4"), "terminals": np.zeros(rows, bool)}
    return made | {"timeouts": np.zeros(rows, bool)} | {ends: marks}


@pytest.mark.parametrize(
    ("name", "options", "lengths", "ends", "steps", "limit"),
    [
        ("Point-v0", {"length": 1300}, [1200, 40, 1300], "terminals", 1300, "none known"),
        ("Point-v0", {"length": 10**6}, [1200, 40, 1100], "timeouts", 1200, "time-outs"),
        ("Point-v0", {"length": 10**6}, [1200, 40, 1100], "terminals", 10_000, "none known"),
        ("Point-v0", {"length": 10**6}, [1200], "timeouts", 1200, "time-outs"),
        ("Point-v0", {"length": 30}, [1200, 40, 1100], "timeouts", 30, "time-outs"),
        ("Limited-v0", {}, [7, 20, 3], "terminals", 20, "environment"),
        ("Limited-v0", {"max_episode_steps": 25}, [25, 25], "timeouts", 25, "environment"),
    ],
)
def test_an_episode_lasts_as_long_as_its_environment_or_the_longest_that_a_timeout_cut(
    tmp_path, name, options, lengths, ends, steps, limit
):
    path = written(tmp_path / "mine.hdf5", columns(lengths, ends))
    prepared(path, task(name, **options))
    data = pd.read_csv(path.with_suffix(".csv"))
    assert data["limit_from"].tolist() == [limit]
    shown = table(data.assign(unit="return"), "", "").caption
    assert ("after 10,000 steps" in shown) == (limit == "none known")
    horizon = read_horizon(path.with_suffix(".safetensors"))
    settings = EvaluationSettings(1, 1, 1, seed=0, task=task(name, **options), horizon=horizon)
    assert evaluated(settings)["steps"].tolist() == [steps]


def test_the_end_of_a_file_is_no_limit_where_episodes_end_by_themselves(tmp_path):
    made = columns([1200, 40, 1100, 1300])
    made["terminals"][-1], made["timeouts"][-1] = False, True
    path = written(tmp_path / "mine.hdf5", made)
    prepared(path, task(length=10**6))
    assert read_horizon(path.with_suffix(".safetensors")) == 10_000


def test_a_locked_joint_is_its_value(tmp_path):
    own = task(low=[-1, 0.1], high=[1, 0.1], dtype="float64")
    locked = np.stack([np.linspace(-1, 1, 90), np.full(90, 0.1)], 1).astype("f4")
    path = written(tmp_path / "mine.hdf5", columns([30] * 3) | {"actions": locked})
    np.testing.assert_array_equal(prepared(path, own).actions, locked[:-1] * np.array([1, 0], "f4"))


def following(made):
    """Observations of the next rows, and other ones after every 20th."""
    after = np.concatenate([made["observations"][1:], np.zeros((1, 2), "f4")])
    after[19::20] = 9
    return after


def shuffled(made):
    order = np.random.default_rng(1).permutation(len(made["rewards"]))
    return {key: value[order] for key, value in made.items()}


LONG = columns([20] * 4)
WITH_NEXT = LONG | {"next_observations": following(LONG)}
CONTRADICTIONS = {
    "steps out of order": (shuffled(WITH_NEXT), "next_observations.*in order"),
    "every second step": (
        {key: value[::2] for key, value in WITH_NEXT.items()},
        "next_observations.*other observations after 39 rows without an end, first row 0",
    ),
    "other units": (
        WITH_NEXT | {"next_observations": 2 * following(LONG)},
        "next_observations.*after 76 rows",
    ),
    "ends that are not marked": (
        columns([20], rows=80) | {"next_observations": following(LONG)},
        "next_observations.*after 2 rows without an end, first row 39",
    ),
    "another shape": (WITH_NEXT | {"next_observations": np.zeros((80, 3), "f4")}, r"\(80, 3\)"),
    "no time-out": (columns([20], rows=80), "timeouts.*at most 20 steps.*60 steps.*from row 20"),
    "no end, no limit": (columns([20], rows=80) | {"terminals": np.zeros(80, bool)}, "at most 20"),
}


@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_a_recording_that_contradicts_itself_is_refused(tmp_path, kind, caplog):
    made, message = CONTRADICTIONS[kind]
    path = written(tmp_path / "mine.hdf5", made)
    with pytest.raises(DatasetError, match=rf"mine\.hdf5: .*{message}"):
        prepared(path, task("Limited-v0"))
    if made["observations"].shape == made.get("next_observations", made["observations"]).shape:
        # D4RL's published files are used as its loader uses them.
        kept = prepared(path, task("Limited-v0"), [sha256_of(path)])
        assert len(kept.rewards) == len(made["rewards"]) - 1
        assert "used as" in caplog.text


def test_without_limit_and_end_it_says_what_to_set(tmp_path):
    made = columns([20]) | {"terminals": np.zeros(20, bool)}
    with pytest.raises(DatasetError, match=r"no time limit.*rl\.tasks\.mine\.options\.max_episode"):
        prepared(written(tmp_path / "mine.hdf5", made), task())


def test_a_compression_that_needs_a_plugin_is_named(tmp_path):
    """HDF5 says of such data that a folder of plugins can't be opened."""
    path = written(tmp_path / "mine.hdf5", columns([30]))
    with h5py.File(path, "a") as stream:
        del stream["rewards"]
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((30,))
        made.set_filter(32001, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple((30,))
        stored = h5py.h5d.create(stream.id, b"rewards", h5py.h5t.IEEE_F32LE, space, made)
        stored.write_direct_chunk((0,), np.ones(30, "f4").tobytes())
    with pytest.raises(DatasetError, match=r"rewards: .*found HDF5's filter 32001.*with gzip"):
        prepared(path, task())


@pytest.mark.parametrize("name", ["Pendulum-v99", "no_such_module:Mine-v0"])
def test_an_environment_that_is_not_there_is_named(name):
    with pytest.raises(InputError, match=f"environment is '{name}': .*expected an id of gymnasium"):
        try_environment(task(name))


def test_a_virtual_dataset_is_refused(tmp_path):
    """Where a source is missing, HDF5 reads zeros."""
    path = written(tmp_path / "mine.hdf5", columns([30] * 3))
    with h5py.File(path, "a") as stream:
        del stream["rewards"]
        layout = h5py.VirtualLayout((90,), "f4")
        layout[:60] = h5py.VirtualSource("plain.hdf5", "rewards", (90,))[:60]
        stream.create_virtual_dataset("rewards", layout)
    with pytest.raises(DatasetError, match="rewards: expected a dataset, found a virtual one"):
        prepared(path, task())


def test_a_file_that_another_program_writes_is_said_to_be_locked(tmp_path):
    path = written(tmp_path / "mine.hdf5", columns([30]))
    with path.open("r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(DatasetError, match=r"mine\.hdf5: file: .*locked\. Close"):
            prepared(path, task())
    assert len(prepared(path, task()).rewards) == 29
