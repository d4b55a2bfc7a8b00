"""Wrong recordings, policies and checkpoints: refused by name through rules and commands."""

import json
import os
import shutil
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from packed_reader import unpack
from safetensors.numpy import save_file
from sandbox import Trap, trap
from stand_in import Named

from triptych.core.checkpoint import Checkpoint
from triptych.rl.tasks.transitions import DatasetError, read_transitions

ROWS = 60
OUTPUT = Named(transitions="results/t.safetensors", dataset="results/d.csv")


def columns() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {
        "observations": generator.normal(size=(ROWS, 11)).astype(np.float32),
        "actions": generator.uniform(-1, 1, (ROWS, 3)).astype(np.float32),
        "rewards": generator.normal(size=ROWS).astype(np.float32),
        "terminals": np.arange(ROWS) % 20 == 19,
        "timeouts": np.zeros(ROWS, bool),
    }


def recorded(path, without=(), **changes):
    with h5py.File(path, "w") as stream:
        for key, value in (columns() | changes).items():
            if key not in without:
                stream.create_dataset(key, data=value, compression="gzip" if value.ndim else None)


def announced(path):
    """A file of some kilobytes that claims a hundred billion rows, none of which was written."""
    with h5py.File(path, "w") as stream:
        for key, value in columns().items():
            shape = (10**11, *value.shape[1:])
            stream.create_dataset(key, shape, value.dtype, chunks=(1000, *value.shape[1:]))


def damaged_inside(path):
    """The file opens; a compressed block of it is not what it was."""
    recorded(path)
    with h5py.File(path) as stream:
        about = stream["rewards"].id.get_chunk_info(0)
    data = bytearray(path.read_bytes())
    data[about.byte_offset : about.byte_offset + about.size] = bytes(about.size)
    path.write_bytes(data)


RECORDINGS = {
    "another task": (
        lambda path: recorded(path, observations=np.zeros((ROWS, 17), np.float32)),
        ("11 columns for hopper", "17 columns"),
    ),
    "a key is missing": (lambda path: recorded(path, ["actions"]), ("actions", "rename or add")),
    "texts for numbers": (
        lambda path: recorded(path, rewards=np.array([b"1"] * ROWS, object)),
        ("rewards", "float32", "dtype object"),
    ),
    "rows that were never written": (announced, ("claim", "never written")),
    "damaged inside": (damaged_inside, ("readable HDF5", "download or write it again")),
    "a page": (lambda path: path.write_text("<html>404</html>"), ("readable HDF5",)),
    "a folder": (lambda path: path.mkdir(), ("readable HDF5",)),
}


@pytest.mark.parametrize("kind", RECORDINGS)
def test_a_wrong_recording_is_refused_by_name_key_and_advice(sandbox, kind):
    make, said = RECORDINGS[kind]
    path = sandbox.here / "my own data \u00e9.hdf5"
    make(path)
    tracemalloc.start()
    params = {"task": {"name": "hopper"}, "source": "path", "d4rl_digests": []}
    sandbox.refuses("rl_prepare", {"data": path}, OUTPUT, path.name, *said, **params)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
    sandbox.check()


def policies(path, about, **changes):
    """A file of one BC policy, with observations of 5, latents of 4, actions of 2."""
    shapes = {"d1.weight": (9, 4), "d1.bias": (1, 4), "d2.weight": (4, 4), "d2.bias": (1, 4)}
    shapes |= {"d3.weight": (4, 2), "d3.bias": (1, 2)}
    arrays = {f"vae.{name}": np.full((1, *s), 0.5, np.float32) for name, s in shapes.items()}
    save_file(arrays | changes, path, {"policies": about})


ROW = {"task": "hopper", "method": "snip", "sparsity_percent": 95, "seed": 0}
BC = json.dumps({"rows": [ROW], "settings": {"algorithm": "BC"}})
BACKBONE = Path(__file__).parents[2] / "resources/style/narrow_alexnet.safetensors"
POLICIES = {
    "text": (lambda path: path.write_text("no policy"), "cannot be read as policies"),
    "a pickle": (lambda path: trap(path.parent, path.name), "cannot be read as policies"),
    "a folder": (lambda path: path.mkdir(), "is not a file"),
    "a style's backbone": (lambda path: shutil.copy(BACKBONE, path), "cannot be read as policies"),
    "NaN": (
        lambda path: policies(path, BC, **{"vae.d1.bias": np.full((1, 1, 4), np.nan, "f4")}),
        "vae.d1.bias",
    ),
    "rows that are no JSON": (lambda path: policies(path, "{"), "cannot be read as policies"),
    "no algorithm": (lambda path: policies(path, '{"rows": [{}], "settings": {}}'), "algorithm"),
    "more rows than networks": (
        lambda path: policies(path, BC.replace("[{", '[{"seed": 1}, {')),
        "one of",
    ),
    "fewer networks than rows": (
        lambda path: policies(path, BC, **{"vae.d1.bias": np.zeros((2, 1, 4), "f4")}),
        "vae.d1.bias has not one network a row",
    ),
    "metadata of other kinds": (
        lambda path: policies(path, '{"rows": [1], "settings": 3}'),
        "cannot be read as policies",
    ),
}


@pytest.mark.parametrize("kind", POLICIES)
def test_a_wrong_policy_is_refused(sandbox, kind):
    make, said = POLICIES[kind]
    make(sandbox.here / "a policy.tpk")
    sandbox.command_refuses("policy", "export", "a policy.tpk", said=("a policy.tpk", said))
    assert not list(sandbox.around.rglob("sprung*"))
    sandbox.check()


@pytest.mark.parametrize("name", ["policy.h", "sub/../policy.c", "POLICY.C", "p.safetensors"])
def test_an_export_overwrites_neither_its_reader_nor_its_policy(sandbox, name):
    policies(sandbox.here / "p.safetensors", BC)
    (sandbox.here / "sub").mkdir()
    arguments = ("p.safetensors", "--force", "-o", name)
    sandbox.command_refuses("policy", "export", *arguments, said=(name, "choose another"))
    assert sandbox.triptych("policy", "export", "p.safetensors", "-o", "hop-0.95")[0] == 0
    assert len(unpack("hop-0.95").arrays) == 6
    sandbox.check("hop-0.95", "policy.c", "policy.h")


def test_what_a_policy_says_of_itself_names_no_other_folder(sandbox):
    row = {"task": "../../home/evil", "method": "a/b", "sparsity_percent": 95, "seed": 0}
    about = json.dumps({"rows": [row], "settings": {"algorithm": "BC"}})
    policies(sandbox.here / "p.safetensors", about)
    code, printed, _ = sandbox.triptych("policy", "export", "p.safetensors")
    name = ".._.._home_evil-a_b-95-seed0-fp32.tpk"
    assert code == 0 and name in printed
    assert unpack(name).metadata["row"] == row
    sandbox.check(name.removesuffix(".tpk"), "policy.c", "policy.h")


def test_a_pickle_is_no_expert_and_no_transitions(sandbox):
    path, sprung = trap(sandbox.here, "p.safetensors")
    output = Named(recorded="results/c.hdf5", transitions="results/t", dataset="results/d.csv")
    params = {"task": "hopper", "collect": {"transitions": 1000, "noise": 0.1, "seed": 0}}
    said = (path.name, "resources/experts")
    sandbox.refuses("rl_collect", {"expert": path.name}, output, *said, **params)
    with pytest.raises(DatasetError, match=r"p\.safetensors.*rl_prepare"):
        read_transitions(path)
    assert not sprung.exists()
    sandbox.check()


@pytest.mark.parametrize("kind", ["trap", "trap in torch's form", "cut"])
def test_a_state_that_is_none_is_left_aside(sandbox, caplog, kind):
    path, sprung = trap(sandbox.here, "state.pt")
    if kind == "trap in torch's form":
        torch.save({"fingerprint": "f", "state": Trap(sprung)}, path)
    elif kind == "cut":
        Checkpoint(sandbox.here, "f").save({"weights": torch.zeros(500)})
        os.truncate(path, 900)
    assert Checkpoint(sandbox.here, "f").load() is None
    assert "cannot be read" in caplog.text
    assert (sandbox.here / "aside-1" / "state.pt").exists() and not path.exists()
    assert not sprung.exists()
