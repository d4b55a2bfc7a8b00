"""A policy for where neither torch nor Triptych is: what acts of it, packed, its reader in C, ONNX.

Arrays are a dict in torch's layout, as in `inference`.
"""

import os
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from triptych.core.files import atomic_path
from triptych.rl.acting.inference import LAYERS, NEEDED, ActingSettings, Arrays, networks_of
from triptych.rl.algorithms.registry import ALGORITHMS
from triptych.rl.pruning.storage import Values, as_read, pack

READER = "policy.c"
"""The reader of packed files, which needs nothing of this library."""

OPSET = 20


def what_acts(arrays: Arrays, algorithm: str) -> dict[str, np.ndarray]:
    """The arrays that acting needs: of BCQ decoder, actor and Q1, of BC the decoder, of others the
    actor. Raises ValueError for an algorithm that isn't known, or where an array is missing.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"its algorithm is {algorithm!r}; expected one of {', '.join(ALGORITHMS)}")
    layers = [layer for network in ALGORITHMS[algorithm].acts_with for layer in LAYERS[network]]
    names = {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
    if missing := sorted(names - arrays.keys()):
        raise ValueError(f"it is a policy of {algorithm} and has no array {missing[0]}")
    return {name: array for name, array in arrays.items() if name in names}


def acting_algorithm(arrays: Arrays) -> str | None:
    """What arrays of which nothing is said can act as: BCQ, else BC, else None."""
    has = [f"{LAYERS[network][0]}.weight" in arrays for network in NEEDED["BCQ policy"]]
    return "BCQ" if all(has) else "BC" if has[0] else None


def reader() -> str:
    """The text of `READER`."""
    return (files("triptych.rl.acting") / "readers" / READER).read_text(encoding="utf-8")


def export(
    path: Path,
    arrays: Arrays,
    metadata: Mapping[str, Any],
    settings: ActingSettings,
    algorithm: str,
    values: Values,
) -> float:
    """Write what acts packed at `path`, and as ONNX and with the reader beside it.

    Returns the largest rounding error of a weight. Raises ValueError as its parts do.
    """
    arrays = what_acts(arrays, algorithm)
    export_onnx(path.with_suffix(".onnx"), arrays, settings, algorithm, values)
    error = pack(path, arrays, metadata, values)
    with atomic_path(path.parent / READER) as temporary:
        temporary.write_text(reader(), encoding="utf-8")
    return error


def export_onnx(
    path: str | os.PathLike[str],
    arrays: Arrays,
    settings: ActingSettings,
    algorithm: str,
    values: Values = "fp32",
) -> None:
    """Write what acts as ONNX, in dense matrices.

    BC: observation [B, S] and latent [B, L] to action [B, A]. BCQ: one observation [1, S] and the
    candidates' latents [n, L] to the action [1, A] of the highest Q1. Others: observation [B, S] to
    action [B, A]. B and n are free. With "fp16" weights are float32 rounded to it. Raises
    ValueError where an array is missing or shapes do not fit together.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    arrays = what_acts(arrays, algorithm)
    decodes = "decoder" in ALGORITHMS[algorithm].acts_with
    first, _, last = LAYERS["decoder" if decodes else "actor"]
    actions = len(arrays[f"{last}.bias"])
    latents = 2 * actions if decodes else 0
    states = arrays[f"{first}.weight"].shape[1] - latents
    if states < 1:
        raise ValueError("its decoder has no inputs beside latents; expected observations too")
    networks_of(arrays)  # which says where shapes do not fit together
    constants = as_read(arrays, values)
    if algorithm == "BCQ":
        nodes = list(_bcq_nodes())
    elif decodes:
        nodes = list(_squashed("decoder", ["observation", "latent"], "action"))
    else:
        nodes = list(_squashed("actor", ["observation"], "action"))
    used = {name for _, given, _, _ in nodes for name in given}
    rows, candidates = (1, "n") if algorithm == "BCQ" else ("B", "B")
    constants |= {
        "max_action": np.array(settings.max_action, np.float32),
        "least_action": np.array(-settings.max_action, np.float32),
        "reach": np.array(settings.phi * settings.max_action, np.float32),
    }
    inputs = [("observation", rows, states), ("latent", candidates, latents)]
    graph = helper.make_graph(
        [helper.make_node(kind, given, [made], **how) for kind, given, made, how in nodes],
        f"{algorithm} policy",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [many, size])
            for name, many, size in inputs[: 2 if decodes else 1]
        ],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, [rows, actions])],
        [numpy_helper.from_array(value, name) for name, value in constants.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))


Node = tuple[str, list[str], str, dict[str, Any]]
"""Operator, what it is given, what it makes, attributes."""


def _network(network: str, given: list[str], made: str) -> Iterator[Node]:
    """Concat, then three Gemm with two Relu between."""
    yield "Concat", given, f"{network}.0", {"axis": 1}
    for i, layer in enumerate(LAYERS[network]):
        last = made if i == 2 else f"{layer}.sum"
        inputs = [f"{network}.{i}", f"{layer}.weight", f"{layer}.bias"]
        yield "Gemm", inputs, last, {"transB": 1}
        if i < 2:
            yield "Relu", [last], f"{network}.{i + 1}", {}


def _squashed(network: str, given: list[str], made: str) -> Iterator[Node]:
    yield from _network(network, given, f"{network}.sum")
    yield "Tanh", [f"{network}.sum"], f"{network}.tanh", {}
    yield "Mul", [f"{network}.tanh", "max_action"], made, {}


def _bcq_nodes() -> Iterator[Node]:
    """As `NumpyDense.candidates`, and the candidate of the highest Q1."""
    yield "Shape", ["latent"], "candidates", {"start": 0, "end": 1}
    yield "Constant", [], "one", {"value_ints": [1]}
    yield "Concat", ["candidates", "one"], "repeats", {"axis": 0}
    yield "Tile", ["observation", "repeats"], "states", {}
    yield from _squashed("decoder", ["states", "latent"], "proposed")
    yield from _network("actor", ["states", "proposed"], "actor.sum")
    yield "Tanh", ["actor.sum"], "actor.tanh", {}
    yield "Mul", ["actor.tanh", "reach"], "shift", {}
    yield "Add", ["proposed", "shift"], "unbounded", {}
    yield "Clip", ["unbounded", "least_action", "max_action"], "moved", {}
    yield from _network("critic", ["states", "moved"], "values")
    yield "ArgMax", ["values"], "best", {"axis": 0, "keepdims": 0}
    yield "Gather", ["moved", "best"], "action", {"axis": 0}
