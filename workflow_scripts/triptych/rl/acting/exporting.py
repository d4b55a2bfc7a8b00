"""One policy of a training job's file: read, and what acts of it, for machines without PyTorch.

Arrays are a dict in torch's layout, as in `inference`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from triptych.core.errors import InputError
from triptych.rl.acting.inference import LAYERS, Arrays, networks_of
from triptych.rl.methods import ALGORITHMS
from triptych.rl.networks.algorithm import algorithm_class
from triptych.rl.networks.stacked import torch_layout
from triptych.rl.pruning.storage import SCALE, SHIFT

READER = ("policy.c", "policy.h")
"""The reader of packed files, which needs nothing of this library, and what it declares."""
OPTIONS = {
    "method": "method",
    "observations": "observations",
    "pruning": "pruning",
    "sparsity": "sparsity_percent",
    "seed": "seed",
}
"""Keys of a row by the command's options that choose one."""
LISTED = 40
"""Rows that an error lists."""


@dataclass(frozen=True)
class StoredPolicy:
    """One policy in torch's own layout: weights [out, in], biases [out]; and shift and scale [S] of
    the observations where its networks see others than raw ones."""

    arrays: dict[str, np.ndarray]
    row: dict[str, Any]
    settings: dict[str, Any]


def read_policy(path: Path, filters: Mapping[str, Any]) -> StoredPolicy:
    """One policy of a file of `write_policies` (training/train.py).

    filters: values that its row has to have. Raises InputError for another file, and where not
    exactly one row has them.
    """
    if not path.is_file():
        raise InputError(f"{path} is not a file; give a policies.safetensors")
    try:
        with safe_open(path, framework="numpy") as stored:
            about = json.loads((stored.metadata() or {})["policies"])
            rows, settings = [dict(row) for row in about["rows"]], dict(about["settings"])
            settings["algorithm"]  # which networks act
            k = _place(path, rows, filters)
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        if wrong := [name for name, array in arrays.items() if array.shape[:1] != (len(rows),)]:
            raise ValueError(f"{wrong[0]} has not one network a row")
        policy = torch_layout({name: array[k] for name, array in arrays.items()})
    except (SafetensorError, TypeError, KeyError, ValueError, AttributeError, RecursionError) as e:
        raise InputError(
            f"{path} cannot be read as policies ({e!r}); expected a policies.safetensors of the "
            "rule rl_train"
        ) from e
    return StoredPolicy(policy, rows[k], settings)


def _place(path: Path, rows: Sequence[Mapping[str, Any]], filters: Mapping[str, Any]) -> int:
    """The place of the one row that has the values of `filters`."""
    matches = [k for k, row in enumerate(rows) if filters.items() <= row.items()]
    if len(matches) == 1:
        return matches[0]
    lines = [
        "  " + " ".join(f"--{option} {row[key]}" for option, key in OPTIONS.items() if key in row)
        for row in ([rows[k] for k in matches] or rows)
    ]
    if (more := len(lines) - LISTED) > 0:
        lines[LISTED:] = [f"  and {more} more"]
    problem = "no row is" if not matches else f"{len(matches)} rows are"
    listed = "\n".join(lines)
    raise InputError(f"{path}: {problem} what was asked for; choose one of\n{listed}")


def acting_arrays(arrays: Arrays, algorithm: str) -> dict[str, np.ndarray]:
    """The arrays that acting needs: of BCQ decoder, actor and Q1, of BC the decoder, of others the
    actor; and the scaling of observations, if there is one.

    Raises ValueError for an unknown algorithm, a missing array, or shapes that don't fit.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"its algorithm is {algorithm!r}; expected one of {', '.join(ALGORITHMS)}")
    groups = algorithm_class(algorithm).acting_groups
    layers = [layer for group in groups for layer in LAYERS[group]]
    names = {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
    if missing := sorted(names - arrays.keys()):
        raise ValueError(f"it is a policy of {algorithm} and has no array {missing[0]}")
    acting = {name: array for name, array in arrays.items() if name in {*names, SHIFT, SCALE}}
    networks_of(acting)
    return acting


def reader(name: str) -> str:
    return (files("triptych.rl.acting") / "readers" / name).read_text(encoding="utf-8")
