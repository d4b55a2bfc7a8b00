"""Files of policies: those of a training job, and one policy of such a file."""

import json
import os
from collections.abc import Mapping, Sequence
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


def write_policies(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    rows: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
) -> None:
    """Write K trained networks with their rows and settings of acting as one safetensors file.

    arrays: [K, ...] by name; where networks see others than raw observations, shift and scale too.
    """
    # One entry only: safetensors writes several in no fixed order.
    metadata = {"policies": json.dumps({"rows": rows, "settings": settings}, sort_keys=True)}
    with atomic_path(path) as temporary:
        save_file(
            {name: np.ascontiguousarray(array) for name, array in arrays.items()},
            temporary,
            metadata=metadata,
        )


@dataclass(frozen=True)
class StoredPolicy:
    """One policy in torch's own layout: weights [out, in], biases [out]; and shift and scale [S] of
    the observations where its networks see others than raw ones."""

    arrays: dict[str, np.ndarray]
    row: dict[str, Any]
    settings: dict[str, Any]


def read_policy(path: Path, filters: Mapping[str, Any]) -> StoredPolicy:
    """One policy of a file of `write_policies`.

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
