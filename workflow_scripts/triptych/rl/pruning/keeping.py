"""Masks of exact counts: the largest scores, and how many weights each layer keeps."""

from collections.abc import Mapping

import torch
from torch import Tensor

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
