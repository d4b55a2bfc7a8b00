"""Masks of a stack of runs, and tables of the weights that they keep and their bytes."""

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
from safetensors.numpy import load_file, save_file

from triptych.core.files import atomic_path, write_csv
from triptych.rl.methods import CRITERIA, DENSE, networks_name
from triptych.rl.networks.algorithm import Algorithm, Widths
from triptych.rl.networks.sampling import DeviceData
from triptych.rl.networks.stacked import Parameters, apply_masks, network_of, torch_layout
from triptych.rl.pruning.keeping import check_masks
from triptych.rl.pruning.storage import coo_bytes, dense_bytes, packed_bytes
from triptych.rl.pruning.unpruned import Unpruned, criterion, weights_of
from triptych.rl.tasks.sweep import keys_of
from triptych.rl.tasks.task import Task
from triptych.rl.tasks.transitions import Transitions

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
    """A stack's initial weights and masks, [K, in, out] by name, with the columns of its tables.

    networks: what tables call them. inputs: names of an observation's numbers.
    """

    rows: pd.DataFrame
    networks: str
    algorithm: Algorithm
    inputs: Sequence[str]
    initial: Parameters
    masks: dict[str, np.ndarray]

    def write(self, masks: PathLike, layers: PathLike, inputs: PathLike, sizes: PathLike) -> None:
        """Write the masks, and tables of kept weights by layer and by input, and of bytes."""
        tensors = {name: torch.as_tensor(mask) for name, mask in self.masks.items()}
        pruned = {name: value.numpy() for name, value in apply_masks(self.initial, tensors).items()}
        write_masks(masks, self.masks)
        first_layers = self.algorithm.first_layers()
        for path, table in (
            (layers, layer_table(self.rows, self.masks, self.algorithm.groups())),
            (inputs, input_table(self.rows, self.masks, self.inputs, first_layers)),
            (sizes, size_table(self.rows, pruned)),
        ):
            table.insert(1, "networks", self.networks)
            write_csv(table, path)


def prune_stack(
    rows: pd.DataFrame,
    networks: str,
    widths: Widths,
    algorithm: Algorithm,
    pruning: Mapping[str, Mapping[str, int]],
    task: Task,
    transitions: Transitions,
) -> PrunedStack:
    """Masks of a stack at initialisation, from batches of transitions.

    networks: name of the widths. pruning: the settings of `rl.pruning`, by name of the variant. It
    is done on a CPU, which makes the same masks on every machine. Raises ValueError where config
    names fewer or more inputs than an observation has.
    """
    data = DeviceData(transitions, torch.device("cpu"), torch.float32)
    initial, masks = prune(rows, widths, pruning, data, algorithm)
    return PrunedStack(
        rows=rows,
        networks=networks_name(networks, algorithm.name),
        algorithm=algorithm,
        inputs=task.input_names(data.sizes[0]),
        initial=initial,
        masks={name: mask.numpy() for name, mask in masks.items()},
    )


def prune(
    rows: pd.DataFrame,
    widths: Widths,
    pruning: Mapping[str, Mapping[str, int]],
    data: DeviceData,
    algorithm: Algorithm,
) -> tuple[Parameters, Parameters]:
    """Initial parameters and masks of a stack.

    `rows` has the columns of `sweep.KEYS`, task being one for all; pruning: settings by the names
    in the column pruning. Returns parameters (all tensors) and boolean masks (weights only), both
    stacked in the order of `rows`.
    """
    task = str(rows["task"].iloc[0])
    fresh = algorithm.initialise(widths, *data.sizes, [int(seed) for seed in rows["seed"]])
    parameters = {name: value.to(data.rewards) for name, value in fresh.items()}
    masks = {
        name: torch.ones_like(value, dtype=torch.bool)
        for name, value in weights_of(parameters).items()
    }
    pruned = rows.reset_index(drop=True)
    pruned = pruned[pruned["method"] != DENSE]
    alike = pruned.groupby(["observations", "method", "pruning"], sort=False)
    for (kind, method, variant), of_method in alike:
        seeds = sorted({int(seed) for seed in of_method["seed"]})
        places = [int(of_method.index[of_method["seed"] == seed][0]) for seed in seeds]
        networks = Unpruned(
            parameters={name: value[places] for name, value in parameters.items()},
            seeds=seeds,
            task=task,
            algorithm=algorithm,
            settings=pruning[str(variant)],
            data=data.seen_as([str(kind)] * len(seeds)),
        )
        for sparsity, of_level in of_method.groupby("sparsity_percent", sort=False):
            percent = float(str(sparsity))
            level = criterion(str(method)).masks(networks, percent)
            final = None if CRITERIA[str(method)].changes_masks else percent
            check_masks(str(method), level, networks.weights, networks.groups(), final)
            for k, seed in zip(of_level.index, of_level["seed"], strict=True):
                for name, mask in level.items():
                    masks[name][int(k)] = mask[seeds.index(int(seed))]
    return parameters, masks


def input_table(
    rows: pd.DataFrame, masks: Masks, names: Sequence[str], first_layers: Sequence[str]
) -> pd.DataFrame:
    """Weights kept of each observation in each layer that reads it, one row a run and input.

    rows: the runs, in the order of the masks. names: of the numbers of an observation.
    """
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        for layer in first_layers:
            mask = masks[f"{layer}.weight"][k, : len(names)]
            kept_counts = mask.sum(1)
            records += [
                {**row, "layer": layer, "input": i, "name": name, "weights": mask.shape[1]}
                | {"kept": int(kept_counts[i])}
                for i, name in enumerate(names)
            ]
    return pd.DataFrame(records)


def layer_table(
    rows: pd.DataFrame, masks: Masks, groups: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """One row a layer and run: weights, those kept, their share, and whether none is.

    groups: names of the weights that were ranked together, by group.
    """
    group_of = {name: group for group, names in groups.items() for name in names}
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        for name, mask in masks.items():
            weights, kept_count = int(mask[k].size), int(mask[k].sum())
            network, layer = name.removesuffix(".weight").split(".")
            if not kept_count:
                logger.warning("the mask of %s empties the layer %s %s", row, network, layer)
            about: dict[Any, Any] = {**row, "network": network, "group": group_of[name]}
            about |= {"layer": layer, "weights": weights, "kept": kept_count}
            records.append(
                {**about, "share_kept": kept_count / weights, "emptied": kept_count == 0}
            )
    return pd.DataFrame(records)


def size_table(rows: pd.DataFrame, arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
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


def write_masks(path: PathLike, masks: Masks) -> None:
    """Write boolean masks [K, in, out], eight weights a byte."""
    packed = {
        name: np.packbits(mask.reshape(len(mask), -1), axis=1) for name, mask in masks.items()
    }
    with atomic_path(path) as temporary:
        save_file(packed, temporary)


def read_masks(path: PathLike, shapes: Mapping[str, tuple[int, int]]) -> dict[str, np.ndarray]:
    """Read masks, boolean [K, in, out] by weight name.

    shapes: (inputs, outputs) of each layer. Raises ValueError when the file was made for others.
    """
    packed = load_file(path)
    masks = {}
    for layer, (inputs, outputs) in shapes.items():
        bits = packed.get(f"{layer}.weight")
        size = inputs * outputs
        if bits is None or bits.shape[1] != (size + 7) // 8:
            raise ValueError(f"{path}: no mask for {layer} of {inputs} x {outputs} weights")
        masks[f"{layer}.weight"] = (
            np.unpackbits(bits, axis=1, count=size).astype(bool).reshape(-1, inputs, outputs)
        )
    return masks
