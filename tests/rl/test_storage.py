"""Sizes as the paper measured them, and the packed format."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from packed_reader import unpack

from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.stacked import network_of
from triptych.rl.pruning.storage import coo_bytes, dense_bytes, pack

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "resources/published/rl_table1_megabytes.csv"
SPECIFICATION = ROOT / "docs/packed-format.md"

SHAPES = Bcq.layer_shapes(Widths((400, 300), (400, 300), 750), 17, 6)  # HalfCheetah and Walker2d
LAYERS = ("actor", "critic", "vae")


def network(name: str, kept: float = 1.0, seed: int = 0) -> dict[str, np.ndarray]:
    """A network of the paper's widths in which exactly a share `kept` of the weights is not 0."""
    generator = np.random.default_rng(seed)
    own = {layer: shape for layer, shape in SHAPES.items() if network_of(layer) == name}
    shapes = {layer.removeprefix(f"{name}."): (out, into) for layer, (into, out) in own.items()}
    total = sum(out * into for out, into in shapes.values())
    mask = np.zeros(total, dtype=bool)
    mask[generator.permutation(total)[: round(kept * total)]] = True
    parameters = {}
    for layer, (out, into) in shapes.items():
        here, mask = mask[: out * into], mask[out * into :]
        weight = generator.uniform(0.01, 0.05, (out, into)) * here.reshape(out, into)
        parameters[f"{layer}.weight"] = weight.astype(np.float32)
        parameters[f"{layer}.bias"] = generator.uniform(0.01, 0.05, out).astype(np.float32)
    return parameters


def published_megabytes() -> dict[tuple[str, str], float]:
    with PUBLISHED.open() as stream:
        return {
            (row["row"], row["network"]): float(row["published"]) for row in csv.DictReader(stream)
        }


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    ("row", "measure", "kept"),
    [
        ("Dense Model", dense_bytes, 1.0),
        ("Dense Model Sparse Indexing", coo_bytes, 1.0),
        ("SNIP (95% sparse)", coo_bytes, 0.05),
    ],
)
def test_bytes_are_within_0_6_percent_of_the_published_megabytes(name, row, measure, kept):
    megabytes = measure(network(name, kept)) / 1e6
    assert megabytes == pytest.approx(published_megabytes()[row, name], rel=0.006)


finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
shapes = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)
networks = st.dictionaries(
    st.text(max_size=12),
    arrays_of.arrays(np.float32, shapes, elements=st.one_of(st.just(0.0), finite32)),
    max_size=4,
)


@settings(max_examples=150, deadline=None)
@given(arrays=networks, metadata=st.dictionaries(st.text(), st.integers() | st.text()))
def test_fp32_round_trip_is_exact_for_any_shape_and_sparsity(tmp_path_factory, arrays, metadata):
    path = tmp_path_factory.getbasetemp() / "any.tpk"
    assert pack(path, arrays, metadata, "fp32") == 0.0
    read = unpack(path)
    assert list(read.arrays) == list(arrays) and read.metadata == metadata
    for name, array in arrays.items():
        expected = array + np.float32(0) if array.ndim >= 2 else array  # -0.0 + 0.0 is 0.0
        assert read.arrays[name].shape == array.shape
        assert read.arrays[name].tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("kept", [0.05, 1.0])
def test_fp16_rounds_once_and_states_the_largest_error(tmp_path, kept):
    parameters = network("actor", kept)
    stated = pack(tmp_path / "half.tpk", parameters, {}, "fp16")
    read = unpack(tmp_path / "half.tpk")
    assert read.largest_rounding_error == stated
    for name, array in parameters.items():
        assert np.array_equal(read.arrays[name], array.astype(np.float16).astype(np.float32))
    assert stated == max(
        np.abs(read.arrays[name].astype(float) - array).max() for name, array in parameters.items()
    )
    assert 0 < stated <= 0.05 * 2**-11
    assert pack(tmp_path / "again.tpk", read.arrays, {}, "fp16") == 0.0


@pytest.mark.parametrize(
    ("array", "values", "message"),
    [
        (np.array([[70000.0]], np.float32), "fp16", "70000.*65504.*fp32"),
        (np.array([np.nan], np.float32), "fp32", "NaN or infinity"),
        (np.array([1.0]), "fp32", "float64.*convert"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(tmp_path, array, values, message):
    with pytest.raises(ValueError, match=message):
        pack(tmp_path / "x.tpk", {"w": array}, {}, values)
    assert list(tmp_path.iterdir()) == []


def test_the_example_of_the_document_is_what_pack_writes(tmp_path):
    dump = re.search(r"```hexdump\n(.*?)```", SPECIFICATION.read_text(), re.S)
    assert dump is not None
    content = b"".join(bytes.fromhex(line.split("|")[0][8:]) for line in dump.group(1).splitlines())
    pack(
        tmp_path / "example.tpk",
        {
            "l1.weight": np.array([[0, 0.5, 0], [0, 0, -2]], np.float32),
            "l1.bias": np.array([0.25, 0], np.float32),
        },
        {"task": "hopper"},
        "fp32",
    )
    assert (tmp_path / "example.tpk").read_bytes() == content
