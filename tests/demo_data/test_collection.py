"""Collected files: replayable physics in D4RL's layout, the same bytes every time."""

from pathlib import Path

import h5py
import mujoco
import numpy as np
import pytest
from policies import random_expert
from safetensors.numpy import load_file

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
    collect("walker2d", expert, tmp_path / "w.hdf5", 1000, 0.05, 0)
    columns = read(tmp_path / "w.hdf5")
    widths = {"observations": (17,), "next_observations": (17,), "actions": (6,), "rewards": ()}
    widths |= {"infos/qpos": (9,), "infos/qvel": (9,)}
    for key, width in widths.items():
        assert (columns[key].shape, columns[key].dtype) == ((1000, *width), np.float32), key
    for key in ("terminals", "timeouts"):
        assert (columns[key].shape, columns[key].dtype) == ((1000,), np.bool_), key
    with h5py.File(tmp_path / "w.hdf5") as stream:
        assert "not D4RL" in stream.attrs["source"]


def test_rows_obey_the_physics_and_the_experts_policy(expert: Path, tmp_path: Path) -> None:
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
    policy = load_file(expert)
    mean = rows["observations"]
    for name, bend in (("fc0", np.tanh), ("fc1", np.tanh), ("last_fc", lambda x: x.clip(-1, 1))):
        mean = bend(mean @ policy[f"{name}.weight"].T + policy[f"{name}.bias"])
    inside = np.abs(rows["actions"]) < 1
    noise = (rows["actions"] - mean)[inside]
    assert noise.std() == pytest.approx(0.05, rel=0.05)


def test_a_seed_is_a_file_whose_beginning_is_a_shorter_one_of_fewer_episodes_at_once(
    expert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seed in (("long", 0), ("again", 0), ("other", 1)):
        collect("walker2d", expert, tmp_path / name, 900, 0.05, seed)
    assert (tmp_path / "long").read_bytes() == (tmp_path / "again").read_bytes()
    monkeypatch.setattr(collection, "EPISODES_AT_ONCE", 3)
    collect("walker2d", expert, tmp_path / "short", 700, 0.05, 0)
    long, short, other = (read(tmp_path / name) for name in ("long", "short", "other"))
    assert not np.array_equal(other["observations"], long["observations"])
    for key in ("observations", "actions", "rewards", "infos/qvel", "terminals"):
        np.testing.assert_array_equal(short[key], long[key][:700])
