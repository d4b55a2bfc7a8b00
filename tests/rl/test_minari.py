"""Data sets of Minari: what they hold in D4RL's layout, and what is said where they aren't."""

import sys

import h5py
import numpy as np
import pytest
from minari_sets import NAME, record

from triptych.core.errors import InputError
from triptych.rl.tasks.minari import write_minari
from triptych.rl.tasks.task import task_from
from triptych.rl.tasks.transitions import prepare, read_transitions

pytest.importorskip("minari")

ANT = task_from("ant", "Ant-v5")


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
    prepare(folder / "ant.hdf5", ANT, "minari", folder / "t.safetensors", folder / "d.csv")
    assert len(read_transitions(folder / "t.safetensors").actions) == len(found["actions"]) - sum(
        not each for each in ended
    ) - bool(ended[-1])


def test_where_the_package_is_missing_it_is_said_how_to_install_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(
        InputError, match=r"minari isn't installed.*pip install 'minari\[hdf5,hf\]'"
    ):
        write_minari(NAME, folder / "ant.hdf5")


def test_a_data_set_that_is_neither_here_nor_to_be_had_is_named(folder):
    with pytest.raises(
        InputError, match=r"no/such-v0 can't be read in .*minari download no/such-v0"
    ):
        write_minari("no/such-v0", folder / "ant.hdf5")
    assert not (folder / "ant.hdf5").exists()


def test_what_is_no_vector_is_refused_by_name(folder):
    record(1, "CartPole-v1")
    with pytest.raises(InputError, match=r"has actions that are Discrete\(2\); expected a Box"):
        write_minari(NAME, folder / "cart.hdf5")
