"""The rule rl_prune's work: masks of a stack of runs, and what they leave."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from triptych.rl.bcq import BcqSettings, apply_masks
from triptych.rl.networks import NETWORKS, Widths, network_of, torch_layout
from triptych.rl.pruning import PruningSettings, layer_table, prune
from triptych.rl.sampling import DeviceData
from triptych.rl.storage import coo_bytes, dense_bytes, packed_bytes
from triptych.rl.sweep import run_records
from triptych.rl.transitions import read_transitions


@dataclass(frozen=True)
class PrunedStack:
    """Masks [K, in, out] by weight name, and what they leave: by layer, and in bytes."""

    masks: dict[str, np.ndarray]
    layers: pd.DataFrame
    sizes: pd.DataFrame


def prune_stack(
    rows: pd.DataFrame,
    transitions: str | os.PathLike[str],
    widths: Widths,
    bcq: BcqSettings,
    pruning: PruningSettings,
    device: torch.device,
) -> PrunedStack:
    """Masks of a stack at initialisation, from one batch of `transitions`, and their tables."""
    data = DeviceData(read_transitions(transitions), device, torch.float32)
    parameters, masks = prune(rows, widths, data, bcq, pruning)
    arrays = {name: mask.cpu().numpy() for name, mask in masks.items()}
    pruned = {name: value.cpu().numpy() for name, value in apply_masks(parameters, masks).items()}
    return PrunedStack(arrays, layer_table(rows, arrays, pruning.scope), _sizes(rows, pruned))


def _sizes(rows: pd.DataFrame, arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Bytes that each network of each run takes in each format."""
    records = []
    for k, row in enumerate(run_records(rows)):
        policy = torch_layout({name: array[k] for name, array in arrays.items()})
        for network in NETWORKS:
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
                {**row, "network": network, "format": name, "bytes": size}
                for name, size in sizes.items()
            ]
    return pd.DataFrame(records)
