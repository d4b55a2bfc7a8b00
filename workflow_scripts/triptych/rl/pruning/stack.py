"""Masks of a stack of runs, and what they leave: weights by layer and by input, bytes."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from triptych.core.files import write_csv
from triptych.rl.algorithms.networks import Parameters, apply_masks, network_of, torch_layout
from triptych.rl.algorithms.observations import FIRST_LAYERS
from triptych.rl.algorithms.registry import Algorithm, Widths, networks_name
from triptych.rl.algorithms.sampling import DeviceData
from triptych.rl.pruning.single_shot import PruningSettings, Shot, groups, prune, write_masks
from triptych.rl.pruning.storage import coo_bytes, dense_bytes, packed_bytes
from triptych.rl.tasks.sweep import DEFAULT, keys_of
from triptych.rl.tasks.task import Task
from triptych.rl.tasks.transitions import read_transitions

logger = logging.getLogger(__name__)

PathLike = str | os.PathLike[str]
FORMATS: dict[str, Callable[[Mapping[str, np.ndarray]], int]] = {
    "dense": dense_bytes,
    "coo": coo_bytes,
    "packed_fp32": partial(packed_bytes, values="fp32"),
    "packed_fp16": partial(packed_bytes, values="fp16"),
}
"""How many bytes a network takes, by the name of the format."""
Masks = Mapping[str, NDArray[np.bool_]]
"""Boolean [K, in, out] by weight name."""


@dataclass(frozen=True)
class PrunedStack:
    """A stack's initial weights and masks, [K, in, out] by name, and what its tables say of it.

    networks: what tables call them. names: of the inputs. scope: in which weights were ranked
    together.
    """

    rows: pd.DataFrame
    networks: str
    names: Sequence[str]
    scope: str
    initial: Parameters
    masks: dict[str, np.ndarray]

    def write(self, masks: PathLike, layers: PathLike, inputs: PathLike, sizes: PathLike) -> None:
        """Write the masks, and tables of what they leave: by layer, by input, in bytes."""
        kept = {name: torch.as_tensor(mask) for name, mask in self.masks.items()}
        left = {name: value.numpy() for name, value in apply_masks(self.initial, kept).items()}
        write_masks(masks, self.masks)
        for path, table in (
            (layers, layer_table(self.rows, self.masks, self.scope)),
            (inputs, input_table(self.rows, self.masks, self.names)),
            (sizes, _sizes(self.rows, left)),
        ):
            table.insert(1, "networks", self.networks)
            write_csv(table, path)


def prune_stack(
    rows: pd.DataFrame,
    networks: str,
    widths: Widths,
    algorithm: Algorithm,
    pruning: Mapping[str, Mapping[str, Any]],
    task: Task,
    first: int = 0,
) -> PrunedStack:
    """Masks of a stack at initialisation, from batches of transitions.

    pruning: by name the fields of PruningSettings, and as `transitions` the file to draw batches
    from. first: of its first so many transitions, of all for 0. It is done on a CPU, which makes
    the same masks on every machine. Raises ValueError where config names fewer or more inputs than
    an observation has.
    """
    cpu, shots = torch.device("cpu"), {}
    stored = {
        path: DeviceData(read_transitions(path, first), cpu, torch.float32)
        for path in {table["transitions"] for table in pruning.values()}
    }
    for name, table in pruning.items():
        settings = {key: value for key, value in table.items() if key != "transitions"}
        shots[name] = Shot(PruningSettings(**settings), stored[table["transitions"]])
    initial, masks = prune(rows, widths, shots, algorithm)
    arrays = {name: mask.numpy() for name, mask in masks.items()}
    name, default = networks_name(networks, algorithm.name), shots[DEFAULT]
    names = task.input_names(default.data.observations.shape[1])
    return PrunedStack(rows, name, names, default.settings.scope, initial, arrays)


def input_table(rows: pd.DataFrame, masks: Masks, names: Sequence[str]) -> pd.DataFrame:
    """Weights kept of each observation in each layer that sees it, one row a run and input.

    rows: the runs, in the order of the masks. names: of the numbers of an observation.
    """
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        for layer in (name for name in FIRST_LAYERS if f"{name}.weight" in masks):
            mask = masks[f"{layer}.weight"][k, : len(names)]
            kept = mask.sum(1)
            records += [
                {**row, "layer": layer, "input": i, "name": name, "weights": mask.shape[1]}
                | {"kept": int(kept[i])}
                for i, name in enumerate(names)
            ]
    return pd.DataFrame(records)


def layer_table(rows: pd.DataFrame, masks: Mapping[str, np.ndarray], scope: str) -> pd.DataFrame:
    """One row a layer and run: weights, those kept, their share, and whether it was emptied."""
    group_of = {
        name: group for group, names in groups(list(masks), scope).items() for name in names
    }
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        for name, mask in masks.items():
            weights, kept = int(mask[k].size), int(mask[k].sum())
            network, layer = name.removesuffix(".weight").split(".")
            if not kept:
                logger.warning("the mask of %s empties the layer %s %s", row, network, layer)
            about: dict[Any, Any] = {**row, "network": network, "group": group_of[name]}
            about |= {"layer": layer, "weights": weights, "kept": kept}
            records.append({**about, "share_kept": kept / weights, "emptied": kept == 0})
    return pd.DataFrame(records)


def _sizes(rows: pd.DataFrame, arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Bytes that each network of each run takes in each format."""
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        policy = torch_layout({name: array[k] for name, array in arrays.items()})
        for network in dict.fromkeys(map(network_of, policy)):
            names = [name for name in policy if network_of(name) == network]
            one = {name.removeprefix(f"{network}."): policy[name] for name in names}
            records += [
                {**keys_of(row), "network": network, "format": name, "bytes": measure(one)}
                for name, measure in FORMATS.items()
            ]
    return pd.DataFrame(records)
