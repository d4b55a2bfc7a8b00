"""Ways to choose as many weights as a criterion does without looking at a loss."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.rl.algorithms.networks import Parameters
from triptych.rl.algorithms.registry import CHAINS

ROUNDS = 100
"""SynFlow's steps to its sparsity (Tanaka et al. 2020, algorithm 1)."""


def keep_count(scores: Parameters, kept: int) -> Parameters:
    """Boolean masks that keep exactly the `kept` weights of the largest scores, in each row.

    scores: [K, in, out] by weight name, ranked together. Among equal scores the earlier weight (in
    the order of `scores`, then of memory) is kept. Raises ValueError for scores of NaN.
    """
    flat = torch.cat([score.flatten(1) for score in scores.values()], 1)
    if flat.isnan().any():
        raise ValueError(f"scores of {', '.join(scores)} are not numbers: a loss overflowed")
    if 0 < kept < flat.shape[1]:  # by selection: a sort takes ten times as long
        least = flat.kthvalue(flat.shape[1] - kept + 1, 1, keepdim=True).values
        mask, equal = flat > least, flat == least
        mask |= equal & (equal.cumsum(1) <= kept - mask.sum(1, keepdim=True))
    else:
        mask = torch.full_like(flat, kept > 0, dtype=torch.bool)
    sizes = [score[0].numel() for score in scores.values()]
    return {
        name: part.reshape(score.shape)
        for (name, score), part in zip(scores.items(), mask.split(sizes, 1), strict=True)
    }


def count_kept(scores: Mapping[str, Tensor], sparsity_percent: float) -> int:
    """Weights of these layers together that a sparsity leaves in one row: round(N (1 - s))."""
    weights = sum(score[0].numel() for score in scores.values())
    return round(weights * (1 - sparsity_percent / 100))


def even_counts(scores: Mapping[str, Tensor], kept: int) -> dict[str, int]:
    """Weights a layer keeps when each keeps an equal share, `kept` together."""
    total = sum(score[0].numel() for score in scores.values())
    wanted = {name: kept * score[0].numel() / total for name, score in scores.items()}
    return _whole(wanted, kept)


def erk_counts(scores: Mapping[str, Tensor], kept: int) -> dict[str, int]:
    """Weights a layer by Erdős-Rényi's rule (Evci et al. 2020, section 3), `kept` together.

    A layer's share grows with (inputs + outputs) / (inputs * outputs); layers whose share would
    pass one are whole, and the others share what is left.
    """
    sizes = {name: score[0].numel() for name, score in scores.items()}
    raw = {name: sum(score.shape[1:]) / sizes[name] for name, score in scores.items()}
    whole: set[str] = set()
    while True:
        rest = [name for name in sizes if name not in whole]
        left = kept - sum(sizes[name] for name in whole)
        epsilon = left / sum(raw[name] * sizes[name] for name in rest) if rest else 0.0
        over = {name for name in rest if epsilon * raw[name] > 1}
        if not over:
            break
        whole |= over
    wanted = {
        name: float(size) if name in whole else epsilon * raw[name] * size
        for name, size in sizes.items()
    }
    return _whole(wanted, kept)


def _whole(wanted: Mapping[str, float], kept: int) -> dict[str, int]:
    """Whole numbers that add up to `kept`, those with the largest remainders rounded up."""
    counts = {name: int(value) for name, value in wanted.items()}
    by_rest = sorted(wanted, key=lambda name: counts[name] - wanted[name])
    for name in by_rest[: kept - sum(counts.values())]:
        counts[name] += 1
    return counts


def random_scores(parameters: Parameters, seeds: Sequence[int], task: str) -> Parameters:
    """Uniform scores of every weight, keyed by task, seed and layer."""

    def drawn(name: str, seed: int) -> Tensor:
        weight = parameters[name]
        generator = keyed_generator(weight.device, "random", task, seed, name)
        return torch.rand(weight.shape[1:], generator=generator, device=weight.device)

    return {name: torch.stack([drawn(name, seed) for seed in seeds]) for name in parameters}


def shuffle_within_layers(masks: Parameters, seeds: Sequence[int], task: str) -> Parameters:
    """The control that keeps each layer's count of a mask and forgets which weights."""
    shuffled = {}
    for name, mask in masks.items():
        rows = []
        for row, seed in zip(mask, seeds, strict=True):
            generator = keyed_generator(mask.device, "shuffle", task, seed, name)
            order = torch.randperm(row.numel(), generator=generator, device=mask.device)
            rows.append(row.flatten()[order].reshape(row.shape))
        shuffled[name] = torch.stack(rows)
    return shuffled


def synaptic_flow(weights: Parameters, sparsity_percent: float) -> Parameters:
    """SynFlow's masks (Tanaka et al. 2020) of the layers of one group, [K, in, out] by name.

    In each of ROUNDS the weights kept so far are scored by |theta dR/dtheta|, where R is what a
    vector of ones makes of the network with |theta| for theta, and the share kept goes down
    geometrically. It needs no data.
    """
    magnitudes = {name: value.detach().abs().double() for name, value in weights.items()}
    masks = {name: torch.ones_like(value, dtype=torch.bool) for name, value in weights.items()}
    share = 1 - sparsity_percent / 100
    total = sum(value[0].numel() for value in weights.values())
    for step in range(1, ROUNDS + 1):
        live = {name: (value * masks[name]).requires_grad_() for name, value in magnitudes.items()}
        flows = (_flow(live, each.steps) for each in CHAINS)
        flow = torch.stack([flow for flow in flows if flow is not None])
        gradients = torch.autograd.grad(flow.sum(), list(live.values()))
        scores = {
            name: (value * gradient).detach()
            for (name, value), gradient in zip(live.items(), gradients, strict=True)
        }
        masks = keep_count(scores, round(total * share ** (step / ROUNDS)))
    return masks


def _flow(live: Parameters, chain: tuple[tuple[str, ...], ...]) -> Tensor | None:
    """The sum of a chain's outputs for inputs of ones; None for a chain of another group."""
    if f"{chain[0][0]}.weight" not in live:
        return None
    first = live[f"{chain[0][0]}.weight"]
    units = first.new_ones(len(first), 1, first.shape[1])
    for step in chain[:-1]:
        units = units @ live[f"{step[0]}.weight"]
    return torch.stack([(units @ live[f"{name}.weight"]).sum() for name in chain[-1]]).sum()
