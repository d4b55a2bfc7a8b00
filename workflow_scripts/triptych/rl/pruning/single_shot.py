"""Single-shot pruning at initialisation: scores, exact-k masks and what a mask leaves of a layer.

Scores of each network's weights (never biases) are computed from one batch and its own loss
(Algorithm 1 of Arnob et al. 2021), and the k best are chosen within each group: actor, critic,
encoder, decoder (`scope="part"`, as in Algorithm 1), or actor, critic and the whole VAE
(`scope="network"`). Other algorithms' networks are a group each.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor

from triptych.core.files import atomic_path
from triptych.rl.algorithms.losses import losses_of
from triptych.rl.algorithms.networks import (
    Parameters,
    apply_masks,
    initialise,
    network_of,
    select,
)
from triptych.rl.algorithms.registry import CHAINS, Algorithm, Widths, layer_shapes
from triptych.rl.algorithms.sampling import DeviceData, Draws
from triptych.rl.pruning.controls import (
    count_kept,
    erk_counts,
    even_counts,
    keep_count,
    random_scores,
    shuffle_within_layers,
    synaptic_flow,
)
from triptych.rl.pruning.methods import CRITERIA, METHODS
from triptych.rl.tasks.sweep import DEFAULT

GROUPS = {layer: each.group for each in CHAINS for step in each.steps for layer in step}
"""The group of every layer that any algorithm has."""
Scores = dict[str, Tensor]
"""One score a weight, [K, in, out] by weight name; the larger, the sooner it is kept."""


@dataclass(frozen=True)
class PruningSettings:
    """Batch of a shot (the paper: 100 for SNIP, 200 for GraSP), number of them, scope of the ranks.

    With several iterations the share of weights kept goes down geometrically, each on a batch of
    its own (de Jorge et al. 2021, "Iterative SNIP"); the paper has one.
    """

    snip_batch: int
    grasp_batch: int
    iterations: int
    scope: str  # "part" or "network"

    def batch(self, method: str) -> int:
        """Transitions that a criterion scores with."""
        size: int = getattr(self, CRITERIA[method].batch)
        return size


def weights_of(parameters: Parameters) -> Parameters:
    """The prunable tensors: linear weights, never biases."""
    return {name: each for name, each in parameters.items() if name.endswith(".weight")}


def groups(names: Iterable[str], scope: str) -> dict[str, list[str]]:
    """Weight names by the group in which they compete for being kept."""
    grouped: dict[str, list[str]] = {}
    for name in names:
        part = GROUPS[name.removesuffix(".weight")] if scope == "part" else network_of(name)
        grouped.setdefault(part, []).append(name)
    return grouped


def connection_sensitivity(weights: Parameters, loss: Callable[[], Tensor]) -> Scores:
    """SNIP's score |theta * dL/dtheta| (Eq. 1) of each weight that `loss` depends on."""
    gradients = torch.autograd.grad(loss().sum(), list(weights.values()))
    return {
        name: (weight * gradient).abs().detach()
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
    }


def gradient_signal_preservation(weights: Parameters, loss: Callable[[], Tensor]) -> Scores:
    """GraSP's score, with its sign such that the largest are kept: theta * Hg.

    Eq. 4 gives -theta * Hg and removes the largest. H and g are taken over the weights of one
    network. `loss` is evaluated once, so both passes see the same noise.
    """
    tensors = list(weights.values())
    gradients = torch.autograd.grad(loss().sum(), tensors, create_graph=True)
    product = torch.stack([(g * g.detach()).sum() for g in gradients]).sum()
    hessian_gradient = torch.autograd.grad(product, tensors)
    return {
        name: (weight * each).detach()
        for (name, weight), each in zip(weights.items(), hessian_gradient, strict=True)
    }


SCORES = {
    "snip": connection_sensitivity,
    "grasp": gradient_signal_preservation,
}
"""The function of each criterion: of a network's weights and of its loss."""


def masks_at(method: str, scores: Scores, sparsity_percent: float, scope: str) -> Parameters:
    """Boolean masks that keep exactly round(N (1 - s)) of the N weights of each group, in each row.

    How many of these a layer has is the method's (`Method.layers`); which ones, the scores say.
    """
    masks: Parameters = {}
    for names in groups(list(scores), scope).values():
        own = {name: scores[name] for name in names}
        kept = count_kept(own, sparsity_percent)
        if METHODS[method].layers == "ranked":
            masks |= keep_count(own, kept)
        else:
            counts = {"even": even_counts, "erk": erk_counts}[METHODS[method].layers](own, kept)
            for name, count in counts.items():
                masks |= keep_count({name: own[name]}, count)
    return masks


def single_shot_scores(
    method: str,
    parameters: Parameters,
    seeds: Sequence[int],
    data: DeviceData,
    algorithm: Algorithm,
    settings: PruningSettings,
    task: str,
    iteration: int = 0,
) -> Scores:
    """Scores of all weights of K networks by `method`, each network from its own loss, on a batch
    and noise that no update of the training sees."""
    weights = weights_of(parameters)
    if method == "magnitude":
        return {name: weight.abs() for name, weight in weights.items()}
    if method == "random":
        return random_scores(weights, seeds, task)
    index, noise = Draws(seeds, data, settings.batch(method), algorithm, "prune").at(iteration)
    batch = data.batch(index)
    live = {name: value.detach().clone().requires_grad_() for name, value in parameters.items()}
    losses, scores = losses_of(algorithm), Scores()
    for network in dict.fromkeys(map(network_of, live)):
        loss = partial(losses[network], live, live, batch, noise)
        scores |= SCORES[method](weights_of(select(live, network)), loss)
    return scores


@dataclass(frozen=True)
class Shot:
    """How masks are made, and on which data."""

    settings: PruningSettings
    data: DeviceData


def prune(
    rows: pd.DataFrame, widths: Widths, shots: Mapping[str, Shot], algorithm: Algorithm
) -> tuple[Parameters, Parameters]:
    """Initial parameters and masks of a stack.

    `rows` has the columns of `sweep.KEYS`, task being one for all; shots: by the names in the
    column pruning. Returns parameters (all tensors) and boolean masks (weights only), both stacked
    in the order of `rows`.
    """
    data = shots[DEFAULT].data
    observation_size, action_size = data.observations.shape[1], data.actions.shape[1]
    device, dtype, task = data.rewards.device, data.rewards.dtype, str(rows["task"].iloc[0])
    drawn_from = [int(seed) for seed in rows["seed"]]
    fresh = initialise(widths, observation_size, action_size, drawn_from, type(algorithm))
    parameters = {name: value.to(device, dtype) for name, value in fresh.items()}
    masks = {
        name: torch.ones_like(each, dtype=torch.bool)
        for name, each in weights_of(parameters).items()
    }
    alike = rows.reset_index(drop=True).groupby(["observations", "method", "pruning"], sort=False)
    for (kind, method, how), of_method in alike:
        if method == "dense" or METHODS[str(method)].changes == "once":
            continue
        seeds = sorted({int(seed) for seed in of_method["seed"]})
        first = [int(of_method.index[of_method["seed"] == seed][0]) for seed in seeds]
        initial = {name: value[first] for name, value in parameters.items()}
        shot = shots[str(how)]
        seen = Shot(shot.settings, shot.data.seen_as([str(kind)] * len(seeds)))
        masks_of = _masks_by_level(str(method), initial, seeds, seen, algorithm, task)
        for sparsity, of_level in of_method.groupby("sparsity_percent", sort=False):
            level = masks_of(float(str(sparsity)))
            for k, seed in zip(of_level.index, of_level["seed"], strict=True):
                for name, mask in level.items():
                    masks[name][int(k)] = mask[seeds.index(int(seed))]
    return parameters, masks


def _masks_by_level(
    method: str,
    parameters: Parameters,
    seeds: Sequence[int],
    shot: Shot,
    algorithm: Algorithm,
    task: str,
) -> Callable[[float], Parameters]:
    """The masks of K networks by a method, as a function of the sparsity in percent."""
    how, settings = METHODS[method], shot.settings
    if method == "synflow":
        weights = weights_of(parameters)
        parts = [
            {n: weights[n] for n in names} for names in groups(weights, settings.scope).values()
        ]
        return lambda percent: {
            name: mask for part in parts for name, mask in synaptic_flow(part, percent).items()
        }

    def scores(left: Parameters, iteration: int) -> Scores:
        ranked_by = how.scores or method
        given = apply_masks(parameters, left)
        of_all = single_shot_scores(
            ranked_by, given, seeds, shot.data, algorithm, settings, task, iteration
        )
        # What was cut stays cut: GraSP gives what it keeps scores below zero too.
        return {
            name: score.masked_fill(~left[name], -torch.inf) if name in left else score
            for name, score in of_all.items()
        }

    first = scores({}, 0)

    def masks(percent: float) -> Parameters:
        share, count = 1 - percent / 100, settings.iterations
        levels = [100 * (1 - share ** (step / count)) for step in range(1, count)]
        chosen: Parameters = {}
        for iteration, level in enumerate([*levels, percent]):
            ranks = scores(chosen, iteration) if iteration else first
            chosen = masks_at(method, ranks, level, settings.scope)
        return shuffle_within_layers(chosen, seeds, task) if how.shuffled else chosen

    return masks


def write_masks(path: str | os.PathLike[str], masks: Mapping[str, np.ndarray]) -> None:
    """Write boolean masks [K, in, out], eight weights a byte."""
    packed = {
        name: np.packbits(mask.reshape(len(mask), -1), axis=1) for name, mask in masks.items()
    }
    with atomic_path(path) as temporary:
        save_file(packed, temporary)


def read_masks(
    path: str | os.PathLike[str], widths: Widths, observation_size: int, action_size: int
) -> dict[str, np.ndarray]:
    """Read masks of networks of these sizes, boolean [K, in, out] by weight name.

    Raises ValueError when the file was made for other sizes.
    """
    packed = load_file(path)
    masks = {}
    for layer, shape in layer_shapes(widths, observation_size, action_size).items():
        bits = packed.get(f"{layer}.weight")
        size = shape[0] * shape[1]
        if bits is None or bits.shape[1] != (size + 7) // 8:
            raise ValueError(f"{path}: no mask for {layer} of {shape[0]} x {shape[1]} weights")
        masks[f"{layer}.weight"] = (
            np.unpackbits(bits, axis=1, count=size).astype(bool).reshape(len(bits), *shape)
        )
    return masks
