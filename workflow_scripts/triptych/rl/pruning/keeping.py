"""Masks of exact counts: the largest scores, and how many weights each layer keeps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from triptych.core.errors import InputError
from triptych.rl.networks.stacked import Parameters


def keep_count(scores: Parameters, count: int) -> Parameters:
    """Boolean masks that keep exactly the `count` weights of the largest scores, in each row.

    scores: [K, in, out] by weight name, ranked together. Among equal scores the earlier weight (in
    the order of `scores`, then of memory) is kept. Raises ValueError for scores of NaN.
    """
    flat = torch.cat([score.flatten(1) for score in scores.values()], 1)
    if flat.isnan().any():
        raise ValueError(f"scores of {', '.join(scores)} are not numbers: a loss overflowed")
    if 0 < count < flat.shape[1]:  # by selection: a sort takes ten times as long
        least = flat.kthvalue(flat.shape[1] - count + 1, 1, keepdim=True).values
        mask, equal = flat > least, flat == least
        mask |= equal & (equal.cumsum(1) <= count - mask.sum(1, keepdim=True))
    else:
        mask = torch.full_like(flat, count > 0, dtype=torch.bool)
    sizes = [score[0].numel() for score in scores.values()]
    return {
        name: part.reshape(score.shape)
        for (name, score), part in zip(scores.items(), mask.split(sizes, 1), strict=True)
    }


def count_kept(scores: Mapping[str, Tensor], sparsity_percent: float) -> int:
    """Number of weights that a sparsity leaves of these layers in one row: round(N (1 - s))."""
    weights = sum(score[0].numel() for score in scores.values())
    return round(weights * (1 - sparsity_percent / 100))


def check_masks(
    name: str,
    masks: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    groups: Iterable[Sequence[str]],
    sparsity_percent: float | None,
) -> None:
    """Raise InputError naming a criterion's file where its masks aren't what its label says.

    weights: [K, in, out] by name, one mask each. groups: names of the weights that are ranked
    together; all of them may also be ranked as one. sparsity_percent: None where masks still
    change.
    """
    file = f"workflow_scripts/triptych/rl/pruning/criteria/{name}.py"
    for layer, weight in weights.items():
        mask, expected = masks.get(layer), tuple(weight.shape)
        kind = getattr(mask, "dtype", type(mask).__name__)
        shape = tuple(getattr(mask, "shape", ()))
        if not isinstance(mask, Tensor) or kind != torch.bool or shape != expected:
            raise InputError(
                f"{file}: the mask of {layer} is {kind} of shape {shape}; expected a tensor of "
                f"torch.bool of shape {expected} (scores > a threshold, or keep_count)"
            )
    if sparsity_percent is None:
        return
    grouped = [{layer: weights[layer] for layer in names} for names in groups]
    wanted = [count_kept(group, sparsity_percent) for group in grouped]
    kept = torch.stack([sum(masks[layer].sum((1, 2)) for layer in group) for group in grouped], 1)
    for counts in kept.tolist():
        if counts != wanted and sum(counts) != count_kept(weights, sparsity_percent):
            size = sum(weight[0].numel() for weight in weights.values())
            raise InputError(
                f"{file}: at {sparsity_percent:g}% its masks keep {sum(counts)} of {size} weights; "
                f"expected {sum(wanted)}, round(N (1 - s)) of each group"
            )


def even_counts(scores: Mapping[str, Tensor], count: int) -> dict[str, int]:
    """Weights to keep in each layer, `count` in all, if all keep an equal share."""
    total = sum(score[0].numel() for score in scores.values())
    shares = {name: count * score[0].numel() / total for name, score in scores.items()}
    return _whole(shares, count)


def erk_counts(scores: Mapping[str, Tensor], count: int) -> dict[str, int]:
    """Weights to keep in each layer, `count` in all, by Erdős-Rényi's rule (Evci et al. 2020).

    A layer's share grows with (inputs + outputs) / (inputs * outputs); layers whose share would
    pass one are whole, and the others share what is left.
    """
    sizes = {name: score[0].numel() for name, score in scores.items()}
    raw = {name: sum(score.shape[1:]) / sizes[name] for name, score in scores.items()}
    whole: set[str] = set()
    while True:
        rest = [name for name in sizes if name not in whole]
        remaining = count - sum(sizes[name] for name in whole)
        epsilon = remaining / sum(raw[name] * sizes[name] for name in rest) if rest else 0.0
        over = {name for name in rest if epsilon * raw[name] > 1}
        if not over:
            break
        whole |= over
    shares = {
        name: float(size) if name in whole else epsilon * raw[name] * size
        for name, size in sizes.items()
    }
    return _whole(shares, count)


def _whole(shares: Mapping[str, float], count: int) -> dict[str, int]:
    """Integers that add up to `count`: those with the largest remainders are rounded up."""
    counts = {name: int(value) for name, value in shares.items()}
    by_rest = sorted(shares, key=lambda name: counts[name] - shares[name])
    for name in by_rest[: count - sum(counts.values())]:
        counts[name] += 1
    return counts
