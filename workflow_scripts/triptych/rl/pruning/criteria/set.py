"""Sparse evolutionary training (SET, Mocanu et al. 2018): a random mask that evolves."""

from torch import Tensor

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.criteria import erk
from triptych.rl.pruning.keeping import keep_count
from triptych.rl.pruning.unpruned import TrainedRow, Unpruned

LABEL = "SET (dynamic)"
COLOUR = "#6a3d9a"
DASH = (0, (4, 1.5, 1, 1.5))
MARKER = "h"
PLACE = 17
CONTROL = True
CHANGES_MASKS = True

CHANGES, LAST_CHANGE = 20, 0.75
"""Number of changes, and the share of the training by which they are over."""
REPLACED = 0.3
"""Share of a layer's weights that a change replaces (zeta of Mocanu et al.)."""


def masks(networks: Unpruned, percent: float) -> Parameters:
    """Begin with random weights by Erdős-Rényi's rule."""
    return erk.masks(networks, percent)


def change_updates(updates: int) -> set[int]:
    """Numbers of the updates after which a mask changes, of so many."""
    every = max(1, round(LAST_CHANGE * updates / CHANGES))
    return {every * (n + 1) for n in range(CHANGES)}


def changed(row: TrainedRow) -> Parameters:
    """Replace the smallest of each layer's kept weights by as many others, drawn at random."""
    return {
        name: _replaced(weight[0], row.masks[name][0], row.draw("evolve", name))[None]
        for name, weight in row.weights.items()
    }


def _replaced(weight: Tensor, mask: Tensor, uniform: Tensor) -> Tensor:
    count, free = int(mask.sum()), int((~mask).sum())
    going = min(round(REPLACED * count), free)
    stay = keep_count({"": weight.abs().masked_fill(~mask, -1.0)[None]}, count - going)[""][0]
    come = keep_count({"": uniform.masked_fill(mask, -1.0)[None]}, going)[""][0]
    return stay | come
