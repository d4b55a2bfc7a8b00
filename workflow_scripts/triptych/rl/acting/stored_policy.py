"""Files of policies: those of a training job, and one policy of such a file or of own arrays."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.rl.networks.stacked import torch_layout

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
class Policies:
    """K trained networks with their rows and settings of acting.

    Where networks see other observations than raw ones, `arrays` hold the `Scaling`.
    """

    arrays: dict[str, np.ndarray]
    rows: list[dict[str, Any]]
    settings: dict[str, Any]

    def row(self, k: int) -> dict[str, np.ndarray]:
        """Row k in torch's own layout: weights [out, in], biases [out], and shift and scale [S] of
        the observations where the networks see others than raw ones."""
        return torch_layout({name: array[k] for name, array in self.arrays.items()})


def write_policies(path: str | os.PathLike[str], policies: Policies) -> None:
    """Write K networks with their rows and settings as one safetensors file."""
    # One entry only: safetensors writes several in no fixed order.
    about = {"rows": policies.rows, "settings": policies.settings}
    metadata = {"policies": json.dumps(about, sort_keys=True)}
    with atomic_path(path) as temporary:
        save_file(
            {name: np.ascontiguousarray(array) for name, array in policies.arrays.items()},
            temporary,
            metadata=metadata,
        )


def read_policies(path: str | os.PathLike[str]) -> Policies:
    """Read a file of `write_policies`.

    Raises ValueError for a safetensors file that holds no rows and settings.
    """
    with safe_open(Path(path), framework="numpy") as stored:
        metadata = stored.metadata() or {}
        arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    try:
        about = json.loads(metadata["policies"])
        rows, settings = [dict(row) for row in about["rows"]], dict(about["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path}: its rows and settings cannot be understood ({error!r}); expected a policies "
            "file of the rule rl_train"
        ) from error
    for name, array in arrays.items():
        if array.shape[:1] != (len(rows),):
            raise ValueError(
                f"{path}: {name} has shape {array.shape}; expected {len(rows)} networks, one a row"
            )
    return Policies(arrays, rows, settings)


@dataclass(frozen=True)
class StoredPolicy:
    """One policy in torch's layout; row and settings are empty for a file that has none."""

    arrays: dict[str, np.ndarray]
    row: dict[str, Any]
    settings: dict[str, Any]


def read_policy(path: Path, filters: Mapping[str, Any]) -> StoredPolicy:
    """One policy from a row of a policies file or from plain arrays.

    filters: values that its row has to have. Raises InputError where not one row has them.
    """
    if not path.is_file():
        raise InputError(f"{path} is not a file; give a policies.safetensors")
    try:
        with safe_open(path, framework="numpy") as stored:
            if "policies" in (stored.metadata() or {}):
                return _row_of(path, filters)
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        # Where a package has told numpy of bfloat16, safetensors reads what it refuses elsewhere.
        if strange := [name for name, array in arrays.items() if array.dtype.kind == "V"]:
            raise TypeError(f"{strange[0]} is {arrays[strange[0]].dtype}")
    except (SafetensorError, TypeError, KeyError, ValueError, AttributeError) as problem:
        raise InputError(
            f"{path} cannot be read ({problem}); expected a safetensors file of float32 arrays"
        ) from problem
    if not arrays:
        raise InputError(f"{path} holds no arrays")
    if filters:
        raise InputError(
            f"{path} holds one unnamed policy; leave --method, --observations, --pruning, "
            "--sparsity and --seed away"
        )
    return StoredPolicy(arrays, {}, {})


def _row_of(path: Path, filters: Mapping[str, Any]) -> StoredPolicy:
    policies = read_policies(path)
    matches = [k for k, row in enumerate(policies.rows) if filters.items() <= row.items()]
    if len(matches) != 1:
        named = (
            [f"--{option} {row[key]}" for option, key in OPTIONS.items() if key in row]
            for row in (policies.rows if not matches else [policies.rows[k] for k in matches])
        )
        lines = ["  " + " ".join(options) for options in named]
        if (more := len(lines) - LISTED) > 0:
            lines[LISTED:] = [f"  and {more} more"]
        rows = "\n".join(lines)
        problem = "no row is" if not matches else f"{len(matches)} rows are"
        raise InputError(f"{path}: {problem} what was asked for; choose one of\n{rows}")
    (k,) = matches
    return StoredPolicy(policies.row(k), policies.rows[k], policies.settings)
