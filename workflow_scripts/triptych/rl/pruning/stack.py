"""Masks of a stack of runs, and what they leave."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.core.files import write_csv
from triptych.rl.algorithms.networks import (
    Parameters,
    apply_masks,
    initialise,
    network_of,
    torch_layout,
)
from triptych.rl.algorithms.registry import Algorithm, Widths, networks_name
from triptych.rl.algorithms.sampling import DeviceData
from triptych.rl.pruning.connections import input_table
from triptych.rl.pruning.single_shot import PruningSettings, Shot, layer_table, prune, write_masks
from triptych.rl.pruning.storage import coo_bytes, dense_bytes, packed_bytes
from triptych.rl.tasks.sweep import DEFAULT, keys_of
from triptych.rl.tasks.task import Task
from triptych.rl.tasks.transitions import read_transitions

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class PrunedStack:
    """Masks [K, in, out] by weight name, and what they leave: by layer, by input, in bytes."""

    masks: dict[str, np.ndarray]
    layers: pd.DataFrame
    inputs: pd.DataFrame
    sizes: pd.DataFrame

    def write(self, masks: PathLike, layers: PathLike, inputs: PathLike, sizes: PathLike) -> None:
        """Write the masks and the three tables."""
        write_masks(masks, self.masks)
        write_csv(self.layers, layers)
        write_csv(self.inputs, inputs)
        write_csv(self.sizes, sizes)


def prune_stack(
    rows: pd.DataFrame,
    networks: str,
    widths: Widths,
    algorithm: Algorithm,
    pruning: Mapping[str, Mapping[str, Any]],
    task: Task,
) -> PrunedStack:
    """Masks of a stack at initialisation, from batches of transitions, and their tables.

    networks: the name of `widths`, for the tables. pruning: by name (`sweep.KEYS`) the fields of
    PruningSettings, and as `transitions` the file to draw batches from. It is seconds of work and
    done on a CPU, which makes the same masks on every machine.
    """
    shots = {}
    for name, table in pruning.items():
        transitions = read_transitions(table["transitions"])
        settings = {key: value for key, value in table.items() if key != "transitions"}
        shots[name] = Shot(
            PruningSettings(**settings), DeviceData(transitions, torch.device("cpu"), torch.float32)
        )
    parameters, masks = prune(rows, widths, shots, algorithm)
    scope = shots[DEFAULT].settings.scope
    return _left(rows, networks, algorithm, parameters, masks, scope, task)


def with_masks(
    pruned: PrunedStack,
    masks: Mapping[str, np.ndarray],
    rows: pd.DataFrame,
    networks: str,
    widths: Widths,
    algorithm: Algorithm,
    scope: str,
    task: Task,
) -> PrunedStack:
    """What is left when the masks have become others, [K, in, out] by name; the same if none."""
    if not masks:
        return pruned
    seeds = [int(seed) for seed in rows["seed"]]
    fresh = initialise(widths, *algorithm.sizes(masks), seeds, type(algorithm))
    changed = {name: torch.as_tensor(mask) for name, mask in masks.items()}
    return _left(rows, networks, algorithm, fresh, changed, scope, task)


def _left(
    rows: pd.DataFrame,
    networks: str,
    algorithm: Algorithm,
    parameters: Parameters,
    masks: Parameters,
    scope: str,
    task: Task,
) -> PrunedStack:
    arrays = {name: mask.numpy() for name, mask in masks.items()}
    pruned = {name: value.numpy() for name, value in apply_masks(parameters, masks).items()}
    tables = (
        layer_table(rows, arrays, scope),
        input_table(rows, arrays, task, type(algorithm)),
        _sizes(rows, pruned),
    )
    for table in tables:
        table.insert(1, "networks", networks_name(networks, algorithm.name))
    return PrunedStack(arrays, *tables)


def _sizes(rows: pd.DataFrame, arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Bytes that each network of each run takes in each format."""
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        policy = torch_layout({name: array[k] for name, array in arrays.items()})
        for network in dict.fromkeys(map(network_of, policy)):
            one = {
                name.removeprefix(f"{network}."): array
                for name, array in policy.items()
                if network_of(name) == network
            }
            sizes = {
                "dense": dense_bytes(one),
                "coo": coo_bytes(one),
                "packed_fp32": packed_bytes(one, "fp32"),
                "packed_fp16": packed_bytes(one, "fp16"),
            }
            records += [
                {**keys_of(row), "network": network, "format": name, "bytes": size}
                for name, size in sizes.items()
            ]
    return pd.DataFrame(records)
