"""Masks of a stack of runs, and what they leave: weights by layer and by input, paths, bytes."""

import logging
import os
from collections.abc import Callable, Mapping
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
from triptych.rl.algorithms.registry import CHAINS, Algorithm, Bcq, Widths, networks_name
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

    networks: the name of its widths. scope: in which weights were ranked together.
    """

    rows: pd.DataFrame
    networks: str
    algorithm: Algorithm
    task: Task
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
            (inputs, input_table(self.rows, self.masks, self.task, type(self.algorithm))),
            (sizes, _sizes(self.rows, left)),
        ):
            table.insert(1, "networks", networks_name(self.networks, self.algorithm.name))
            write_csv(table, path)


def prune_stack(
    rows: pd.DataFrame,
    networks: str,
    widths: Widths,
    algorithm: Algorithm,
    pruning: Mapping[str, Mapping[str, Any]],
    task: Task,
) -> PrunedStack:
    """Masks of a stack at initialisation, from batches of transitions.

    pruning: by name (`sweep.KEYS`) the fields of
    PruningSettings, and as `transitions` the file to draw batches from. It is seconds of work and
    done on a CPU, which makes the same masks on every machine.
    """
    shots, cpu = {}, torch.device("cpu")
    for name, table in pruning.items():
        data = DeviceData(read_transitions(table["transitions"]), cpu, torch.float32)
        settings = {key: value for key, value in table.items() if key != "transitions"}
        shots[name] = Shot(PruningSettings(**settings), data)
    initial, masks = prune(rows, widths, shots, algorithm)
    arrays = {name: mask.numpy() for name, mask in masks.items()}
    scope = shots[DEFAULT].settings.scope
    return PrunedStack(rows, networks, algorithm, task, scope, initial, arrays)


def on_paths(masks: Masks) -> dict[str, NDArray[np.bool_]]:
    """The kept weights that lie on a path of kept weights from an input to an output.

    A network's other weights change nothing that depends on what it sees. Encoder and decoder
    count by themselves.
    """
    found = {}
    for chain in CHAINS:
        steps = [[f"{layer}.weight" for layer in step] for step in chain.steps]
        if steps[0][0] not in masks:
            continue
        first = masks[steps[0][0]]
        # Units that an input reaches, by step.
        reached: list[Any] = [np.ones(first.shape[:2], np.bool_)]
        for (name,) in steps[:-1]:
            reached.append((masks[name] & reached[-1][..., None]).any(1))
        leads: Any = np.zeros_like(reached[-1])  # units that lead to an output
        for name in steps[-1]:
            found[name] = masks[name] & reached[-1][..., None]
            leads |= masks[name].any(2)
        for (name,), seen in zip(reversed(steps[:-1]), reversed(reached[:-1]), strict=True):
            found[name] = masks[name] & seen[..., None] & leads[:, None]
            leads = (masks[name] & leads[:, None]).any(2)
    return {name: found[name] for name in masks}


def input_table(
    rows: pd.DataFrame, masks: Masks, task: Task, algorithm: type[Algorithm] = Bcq
) -> pd.DataFrame:
    """Weights kept of each observation in each layer that sees it, one row a run and input.

    rows: the runs (`sweep.KEYS`), in the order of the masks; all of `task`. A cut input, of which
    a layer keeps nothing, is logged. Raises ValueError where config names fewer or more inputs.
    """
    names = task.input_names(algorithm.sizes(masks)[0])
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        cut = []
        for layer in (name for name in FIRST_LAYERS if f"{name}.weight" in masks):
            mask = masks[f"{layer}.weight"][k, : len(names)]
            kept = mask.sum(1)
            records += [
                {**row, "layer": layer, "input": i, "name": name, "weights": mask.shape[1]}
                | {"kept": int(kept[i])}
                for i, name in enumerate(names)
            ]
            if gone := [name for name, count in zip(names, kept, strict=True) if not count]:
                cut.append(f"{layer} from {', '.join(gone)}")
        if cut:
            logger.warning("the mask of %s cuts %s", row, "; ".join(cut))
    return pd.DataFrame(records)


def layer_table(rows: pd.DataFrame, masks: Mapping[str, np.ndarray], scope: str) -> pd.DataFrame:
    """One row a layer and run: weights, those kept, their share, and whether it was emptied.

    on_path: the kept ones on a path from an input to an output.
    """
    connected = on_paths(masks)
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
            about |= {"share_kept": kept / weights, "on_path": int(connected[name][k].sum())}
            records.append({**about, "emptied": kept == 0})
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
