"""One job's worth of the sweep: a stack of runs of one task, pruned, then trained."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import StopRequest
from triptych.rl.bcq import BcqSettings, StepSettings, apply_masks
from triptych.rl.evaluation import EvaluationSettings
from triptych.rl.networks import (
    BC_LATENT_CLIP,
    BCQ_LATENT_CLIP,
    MAX_ACTION,
    NETWORKS,
    Policies,
    Widths,
    initialise,
    network_of,
    torch_layout,
)
from triptych.rl.pruning import PruningSettings, layer_table, prune, read_masks
from triptych.rl.sampling import DeviceData
from triptych.rl.storage import coo_bytes, dense_bytes, packed_bytes
from triptych.rl.sweep import run_records
from triptych.rl.training import TrainedStack, TrainingSettings, train
from triptych.rl.transitions import read_transitions

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class PrunedStack:
    """Masks [K, in, out] by weight name, and what they leave: by layer, and in bytes."""

    masks: dict[str, np.ndarray]
    layers: pd.DataFrame
    sizes: pd.DataFrame


def widths_of(table: Mapping[str, Any]) -> Widths:
    """Widths as config writes them."""
    actor, critic = table["actor"], table["critic"]
    return Widths((actor[0], actor[1]), (critic[0], critic[1]), table["vae"])


def bcq_settings_of(table: Mapping[str, Any]) -> BcqSettings:
    """What the losses depend on, from config's rl.bcq."""
    return BcqSettings(
        discount=table["discount"],
        phi=table["phi"],
        lmbda=table["lambda"],
        target_samples=table["target_samples"],
    )


def prune_stack(
    rows: pd.DataFrame,
    transitions: PathLike,
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


def train_stack(
    rows: pd.DataFrame,
    transitions: PathLike,
    masks: PathLike,
    widths: Widths,
    bcq: BcqSettings,
    steps: StepSettings,
    training: TrainingSettings,
    evaluation: EvaluationSettings,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: StopRequest,
) -> TrainedStack:
    """Train a stack of runs from their own initialisations and the masks of `rl_prune`."""
    stored = read_transitions(transitions)
    data = DeviceData(stored, device, torch.float32)
    sizes = stored.observations.shape[1], stored.actions.shape[1]
    fresh = initialise(widths, *sizes, [int(seed) for seed in rows["seed"]])
    read = read_masks(masks, widths, *sizes)
    all_dense = bool((rows["method"] == "dense").all())
    return train(
        rows,
        {name: value.to(device) for name, value in fresh.items()},
        {} if all_dense else {n: torch.as_tensor(mask).to(device) for n, mask in read.items()},
        data,
        bcq,
        steps,
        training,
        evaluation,
        checkpoint,
        stop,
    )


def policies_of(
    rows: pd.DataFrame,
    trained: TrainedStack,
    bcq: BcqSettings,
    training: TrainingSettings,
    evaluation: EvaluationSettings,
) -> Policies:
    """The trained networks with all that is needed to let them act."""
    settings = {
        "algorithm": training.algorithms[0],
        "candidates": evaluation.candidates,
        "latent_clip_bc": BC_LATENT_CLIP,
        "latent_clip_bcq": BCQ_LATENT_CLIP,
        "max_action": MAX_ACTION,
        "phi": bcq.phi,
    }
    return Policies(trained.arrays, run_records(rows), settings)
