"""Collected files: replayable physics in D4RL's layout, the same bytes every time."""

from pathlib import Path

import h5py
import mujoco
import numpy as np
import pytest
from policies import random_expert

from makers.experts.measuring import write_expert
from triptych.demo import collection
from triptych.demo.collection import collect
from triptych.rl.tasks.locomotion import Locomotion

STEPS = 2300


@pytest.fixture
def expert(tmp_path: Path) -> Path:
    """A Walker2d policy that falls after a while."""
    path = tmp_path / "walker2d.safetensors"
    write_expert(path, random_expert(17, 6, gain=0.3))
    return path


def read(path: Path) -> dict[str, np.ndarray]:
    found = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]

    with h5py.File(path) as stream:
        stream.visititems(visit)
    return found


def test_layout_is_that_of_d4rl_version_2(expert: Path, tmp_path: Path) -> None:
    collect("walker2d", expert, tmp_path / "w.hdf5", STEPS, 0.05, 0)
    columns = read(tmp_path / "w.hdf5")
    shapes = {
        "observations": ((STEPS, 17), np.float32),
        "next_observations": ((STEPS, 17), np.float32),
        "actions": ((STEPS, 6), np.float32),
        "rewards": ((STEPS,), np.float32),
        "terminals": ((STEPS,), np.bool_),
        "timeouts": ((STEPS,), np.bool_),
        "infos/action_log_probs": ((STEPS,), np.float32),
        "infos/qpos": ((STEPS, 9), np.float32),
        "infos/qvel": ((STEPS, 9), np.float32),
        "metadata/policy/last_fc/weight": ((6, 7), np.float32),
        "metadata/policy/last_fc/bias": ((6,), np.float32),
    }
    for key, (shape, dtype) in shapes.items():
        assert columns[key].shape == shape, key
        assert columns[key].dtype == dtype, key
    with h5py.File(tmp_path / "w.hdf5") as stream:
        assert "not D4RL" in stream.attrs["source"]
    assert b"not D4RL" in columns["metadata/source"]


def test_rows_obey_the_physics_and_the_metadata_policy(expert: Path, tmp_path: Path) -> None:
    """From qpos, qvel and the action of a row, MuJoCo itself gives the row's successor."""
    collect("walker2d", expert, tmp_path / "w.hdf5", STEPS, 0.05, 0)
    rows = read(tmp_path / "w.hdf5")
    environment = Locomotion("walker2d", 1)
    model = environment._model
    data = mujoco.MjData(model)
    ends = rows["terminals"] | rows["timeouts"]
    assert rows["terminals"].sum() > 2
    for row in [*range(0, STEPS, 97), *np.flatnonzero(rows["terminals"]).tolist()]:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = rows["infos/qpos"][row], rows["infos/qvel"][row]
        data.ctrl[:] = rows["actions"][row]
        mujoco.mj_step(model, data, nstep=4)
        successor = np.concatenate([data.qpos[1:], np.clip(data.qvel, -10, 10)])
        np.testing.assert_allclose(rows["next_observations"][row], successor, atol=2e-3)
        if not ends[row]:
            np.testing.assert_array_equal(
                rows["observations"][row + 1], rows["next_observations"][row]
            )
    layer = {key.removeprefix("metadata/policy/"): each for key, each in rows.items()}
    hidden = np.tanh(rows["observations"] @ layer["fc0/weight"].T + layer["fc0/bias"])
    hidden = np.tanh(hidden @ layer["fc1/weight"].T + layer["fc1/bias"])
    mean = np.clip(hidden @ layer["last_fc/weight"].T + layer["last_fc/bias"], -1, 1)
    inside = np.abs(rows["actions"]) < 1
    noise = (rows["actions"] - mean)[inside]
    assert noise.std() == pytest.approx(0.05, rel=0.05)
    assert np.exp(rows["metadata/policy/last_fc_log_std/bias"]) == pytest.approx([0.05] * 6)


def test_same_seed_gives_the_same_bytes_and_another_seed_other_data(
    expert: Path, tmp_path: Path
) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        collect("walker2d", expert, tmp_path / name, 600, 0.05, seed)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    first, other = read(tmp_path / "a"), read(tmp_path / "c")
    assert not np.array_equal(first["observations"], other["observations"])


def test_a_shorter_file_is_the_beginning_of_a_longer_one(
    expert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the data do not depend on how many episodes run at once."""
    collect("walker2d", expert, tmp_path / "long", 900, 0.05, 0)
    monkeypatch.setattr(collection, "EPISODES_AT_ONCE", 3)
    collect("walker2d", expert, tmp_path / "short", 700, 0.05, 0)
    long, short = read(tmp_path / "long"), read(tmp_path / "short")
    for key in ("observations", "actions", "rewards", "infos/qvel", "terminals"):
        np.testing.assert_array_equal(short[key], long[key][:700])


def test_senseless_numbers_are_refused(expert: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="transitions is 1"):
        collect("walker2d", expert, tmp_path / "w", 1, 0.05, 0)
    with pytest.raises(ValueError, match=r"sigma is -0\.1"):
        collect("walker2d", expert, tmp_path / "w", 100, -0.1, 0)
