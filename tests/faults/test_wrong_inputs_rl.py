"""Wrong recordings, policies and checkpoints: refused by name through rules and commands."""

import os
import tracemalloc

import h5py
import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_tensors
from sandbox import Trap, trap
from stand_in import Named

from triptych.core.checkpoint import Checkpoint
from triptych.rl.pruning.storage import pack, unpack
from triptych.rl.tasks.recording import DatasetError
from triptych.rl.tasks.transitions import read_transitions

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


def with_one(key, value):
    changed = columns()[key]
    changed[7] = value
    return {key: changed}


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


def cut(path):
    recorded(path)
    os.truncate(path, path.stat().st_size // 2)


def looped(path):
    recorded(path, without=["rewards"])
    with h5py.File(path, "a") as stream:
        stream["rewards"] = h5py.SoftLink("/rewards")


RECORDINGS = {
    "two many sizes": (
        lambda path: recorded(path, observations=np.zeros((ROWS, 11, 2), np.float32)),
        ("observations", "2 dimensions", "shape (60, 11, 2)"),
    ),
    "another task": (
        lambda path: recorded(path, observations=np.zeros((ROWS, 17), np.float32)),
        ("11 columns for hopper", "17 columns"),
    ),
    "a reward too few": (
        lambda path: recorded(path, rewards=np.zeros(ROWS - 1, np.float32)),
        ("rewards", "60 rows", "59 rows"),
    ),
    "a key is missing": (lambda path: recorded(path, ["actions"]), ("actions", "rename or add")),
    "texts for numbers": (
        lambda path: recorded(path, rewards=np.array([b"1"] * ROWS, object)),
        ("rewards", "float32", "dtype object"),
    ),
    "NaN": (lambda path: recorded(path, **with_one("rewards", np.nan)), ("rewards", "row 7")),
    "infinity": (lambda path: recorded(path, **with_one("actions", np.inf)), ("actions", "row 7")),
    "no rows": (
        lambda path: recorded(path, **{key: value[:0] for key, value in columns().items()}),
        ("at least 2 rows", "0 rows"),
    ),
    "a scalar": (lambda path: recorded(path, rewards=np.float32(1)), ("rewards", "1 dimension")),
    "a link to itself": (looped, ("readable HDF5",)),
    "rows that were never written": (announced, ("claim", "never written")),
    "cut": (cut, ("readable HDF5", "cut short")),
    "damaged inside": (damaged_inside, ("readable HDF5", "download or write it again")),
    "zero bytes": (lambda path: path.write_bytes(b""), ("readable HDF5",)),
    "a page": (lambda path: path.write_text("<html>404</html>"), ("readable HDF5",)),
    "a folder": (lambda path: path.mkdir(), ("readable HDF5",)),
    "nothing": (lambda path: None, ("nothing there", "Correct the path")),
}


@pytest.mark.parametrize("kind", RECORDINGS)
def test_a_wrong_recording_is_refused_by_name_key_and_advice(sandbox, kind):
    make, said = RECORDINGS[kind]
    path = sandbox.here / "my own data \u00e9.hdf5"
    make(path)
    tracemalloc.start()
    sandbox.refuses(
        "rl_prepare",
        {"data": path},
        OUTPUT,
        path.name,
        *said,
        task={"name": "hopper"},
        source="path",
    )
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
    sandbox.check()


def test_a_right_recording_passes(sandbox):
    recorded(sandbox.here / "right.hdf5")
    sandbox.rule(
        "rl_prepare", {"data": "right.hdf5"}, OUTPUT, task={"name": "hopper"}, source="path"
    )
    assert all(os.path.getsize(path) for path in OUTPUT)
    sandbox.check()


def decoder(**changes):
    """What acts of BC: observations of 5, latents of 4, actions of 2."""
    shapes = {"d1.weight": (4, 9), "d1.bias": (4,), "d2.weight": (4, 4), "d2.bias": (4,)}
    shapes |= {"d3.weight": (2, 4), "d3.bias": (2,)}
    arrays = {f"vae.{name}": np.full(shape, 0.5, np.float32) for name, shape in shapes.items()}
    return arrays | {f"vae.{name.replace('_', '.')}": value for name, value in changes.items()}


def packed(path, metadata):
    pack(path, decoder(), metadata, "fp32")


def policies(path, metadata):
    save_file(
        {name: array[None] for name, array in decoder().items()}, path, {"policies": metadata}
    )


POLICIES = {
    "text": (lambda path: path.write_text("no policy"), "expected a packed file"),
    "zero bytes": (lambda path: path.write_bytes(b""), "expected a packed file"),
    "a folder": (lambda path: path.mkdir(), "is not a file"),
    "bfloat16": (
        lambda path: save_tensors({"w": torch.zeros(2, dtype=torch.bfloat16)}, path),
        "float32 arrays",
    ),
    "NaN": (
        lambda path: save_file(decoder(d1_bias=np.full(4, np.nan, np.float32)), path),
        "vae.d1.bias",
    ),
    "whole numbers": (
        lambda path: save_file({n: a.astype(np.int32) for n, a in decoder().items()}, path),
        "vae.d1.bias",
    ),
    "rows that are no JSON": (lambda path: policies(path, "{"), "cannot be understood"),
    "rows without keys": (lambda path: policies(path, '{"rows": [{}, {}], "settings": {}}'), ""),
    "fewer rows than networks": (
        lambda path: policies(path, '{"rows": [], "settings": {}}'),
        "one a row",
    ),
    "metadata of other kinds": (
        lambda path: packed(path, {"row": [1], "settings": 3}),
        "row and settings",
    ),
}


@pytest.mark.parametrize("kind", POLICIES)
def test_a_wrong_policy_is_refused(sandbox, kind):
    make, said = POLICIES[kind]
    path = sandbox.here / "a policy.tpk"
    make(path)
    sandbox.command_refuses("policy", "export", path.name, said=("a policy.tpk", said))
    sandbox.check()


def test_what_a_policy_says_of_itself_names_no_other_folder(sandbox):
    row = {"task": "../../home/evil", "method": "a/b", "sparsity_percent": 95, "seed": 0}
    packed(sandbox.here / "p.tpk", {"row": row, "settings": {"phi": 0.05}})
    code, printed, _ = sandbox.triptych("policy", "export", "p.tpk")
    name = ".._.._home_evil-a_b-95-seed0-fp32.tpk"
    assert code == 0 and name in printed
    assert unpack(name).metadata["row"] == row
    sandbox.check(name.removesuffix(".tpk"), "policy.c")


def test_a_pickle_is_no_policy_and_no_expert_and_no_transitions(
    sandbox,
):
    path, sprung = trap(sandbox.here, "p.safetensors")
    sandbox.command_refuses("policy", "export", path.name, said=(path.name, "cannot be read"))
    sandbox.refuses(
        "rl_collect",
        {"expert": path.name},
        Named(recorded="results/c.hdf5", transitions="results/t", dataset="results/d.csv"),
        path.name,
        "resources/experts",
        task="hopper",
        transitions=1000,
        noise=0.1,
        seed=0,
    )
    with pytest.raises(DatasetError, match=r"p\.safetensors.*rl_prepare"):
        read_transitions(path)
    assert not sprung.exists()
    sandbox.check()


@pytest.mark.parametrize("kind", ["trap", "trap in torch's form", "another thing", "cut", "text"])
def test_a_state_that_is_none_is_left_aside(sandbox, caplog, kind):
    path, sprung = trap(sandbox.here, "state.pt")
    if kind == "trap in torch's form":
        torch.save({"fingerprint": "f", "state": Trap(sprung)}, path)
    elif kind == "another thing":
        torch.save([torch.zeros(2)], path)
    elif kind == "cut":
        Checkpoint(sandbox.here, "f").save({"weights": torch.zeros(500)})
        os.truncate(path, 900)
    elif kind == "text":
        path.write_text("no state")
    assert Checkpoint(sandbox.here, "f").load() is None
    assert "cannot be read" in caplog.text and "starting afresh" in caplog.text
    assert not sprung.exists()
