"""Data sets of Minari: what they hold in D4RL's layout, and what is said where they aren't."""

import json
import sys

import gymnasium
import h5py
import numpy as np
import pytest
from minari_sets import NAME, STEPS, record
from recorded_files import prepared

from triptych.core.errors import InputError
from triptych.rl.tasks.minari import write_minari
from triptych.rl.tasks.task import task_from
from triptych.rl.tasks.transitions import DatasetError

pytest.importorskip("minari")

ANT = task_from("ant", "Ant-v5", options={"max_episode_steps": STEPS})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    # The variable HF_HUB_OFFLINE is read once, when the module is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path


def test_every_step_that_was_recorded_becomes_a_row(folder):
    recorded = record()
    write_minari(NAME, folder / "ant.hdf5")
    with h5py.File(folder / "ant.hdf5") as stream:
        found = {key: values[:] for key, values in stream.items()}
        assert stream.attrs["source"] == f"minari {NAME}"
    seen, done, paid, ended = zip(*recorded, strict=True)
    lasts = np.cumsum([len(each) for each in paid]) - 1
    np.testing.assert_array_equal(
        found["observations"], np.concatenate([s[:-1] for s in seen]).astype("f4")
    )
    np.testing.assert_array_equal(found["actions"], np.concatenate(done))
    np.testing.assert_array_equal(found["rewards"], np.concatenate(paid).astype("f4"))
    assert np.flatnonzero(found["terminals"] | found["timeouts"]).tolist() == lasts.tolist()
    assert found["terminals"][lasts].tolist() == list(ended)
    kept = prepared(folder / "ant.hdf5", ANT).actions
    cut = sum(not each for each in ended) + bool(ended[-1])
    assert len(kept) == len(found["actions"]) - cut


def test_where_the_package_is_missing_it_is_said_how_to_install_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(
        InputError, match=r"minari isn't installed.*pip install 'minari\[hdf5,hf\]'"
    ):
        write_minari(NAME, folder / "ant.hdf5")


def test_a_data_set_that_is_neither_here_nor_to_be_had_is_named(folder):
    with pytest.raises(InputError, match=r"no/such-v0 is not in .*minari download no/such-v0"):
        write_minari("no/such-v0", folder / "ant.hdf5")
    with pytest.raises(InputError, match=r"no/such has no version; expected no/such-v0"):
        write_minari("no/such", folder / "ant.hdf5")
    assert not (folder / "ant.hdf5").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("main_data.hdf5", "can't be read in .*ant-v0.*delete it"),
        ("metadata.json", "can't be read in .*ant-v0.*metadata.json is no JSON"),
    ],
)
def test_a_data_set_that_was_cut_short_is_named(folder, name, message):
    record(1)
    (path,) = folder.rglob(name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=message):
        write_minari(NAME, folder / "ant.hdf5")


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"minari_version": "99.1.0"}, r"of Minari 99\.1\.0, and .*pip install 'minari>=99\.1\.0'"),
        ({"data_format": "arrow"}, r"pip install 'minari\[arrow\]'"),
    ],
)
def test_a_newer_data_set_is_not_said_to_be_damaged(folder, about, message):
    record(1)
    (path,) = folder.rglob("metadata.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | about))
    (data,) = folder.rglob("main_data.hdf5")
    data.unlink()
    with pytest.raises(InputError, match=message) as refused:
        write_minari(NAME, folder / "ant.hdf5")
    assert "delete" not in str(refused.value)


def test_a_data_set_without_episodes_is_refused(folder):
    record(1)
    (path,) = folder.rglob("metadata.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"total_episodes": 0}))
    with pytest.raises(InputError, match="has no episodes"):
        write_minari(NAME, folder / "ant.hdf5")


def test_actions_lie_between_the_data_sets_own_bounds(folder):
    """The set's actions are of -0.05 to 0.05, the environment's of -1 to 1."""
    recorded = record(bounds=(-0.05, 0.05))
    write_minari(NAME, folder / "ant.hdf5")
    kept = prepared(folder / "ant.hdf5", ANT).actions
    done = np.concatenate([actions for _, actions, *_ in recorded])
    assert abs(done).max() < 0.06
    np.testing.assert_allclose(kept[:10], 20 * done[:10], rtol=1e-5)


@pytest.mark.parametrize(
    ("environment", "options", "found"),
    [("Ant-v4", {}, "Ant-v4"), ("Ant-v5", {"healthy_reward": 2.0}, "Ant-v5 .*healthy_reward")],
)
def test_data_of_another_environment_are_refused_by_name(folder, environment, options, found):
    record(1, environment, **options)
    write_minari(NAME, folder / "ant.hdf5")
    with pytest.raises(DatasetError, match=f"env_spec: expected data of Ant-v5, found {found}"):
        prepared(folder / "ant.hdf5", ANT)


def test_data_recorded_through_a_wrapper_are_refused_by_its_name(folder):
    record(2, wrapper=gymnasium.wrappers.NormalizeObservation)
    write_minari(NAME, folder / "ant.hdf5")
    with pytest.raises(DatasetError, match=r"env_spec: .*in the wrappers NormalizeObservation\."):
        prepared(folder / "ant.hdf5", ANT)
    prepared(folder / "ant.hdf5", ANT, accepted=["wrappers"])


def test_data_of_another_time_limit_are_refused_with_both(folder):
    record(2)
    write_minari(NAME, folder / "ant.hdf5")
    own = task_from("ant", "Ant-v5")
    with pytest.raises(DatasetError, match=r"limit of 40 steps, not 1000\. Set options: \{max_ep"):
        prepared(folder / "ant.hdf5", own)


def test_what_is_no_vector_is_refused_by_name(folder):
    record(1, "CartPole-v1")
    with pytest.raises(InputError, match=r"has actions that are Discrete\(2\); expected a Box"):
        write_minari(NAME, folder / "cart.hdf5")
