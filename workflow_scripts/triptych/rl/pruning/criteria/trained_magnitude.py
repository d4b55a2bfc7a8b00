"""The largest weights of each group when the dense network has trained for half of its updates
(Han et al. 2015)."""

import torch

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.unpruned import TrainedRow, Unpruned, largest_in_groups

LABEL = "Magnitude after training"
COLOUR = "#1f4e79"
DASH = (0, (4, 2))
MARKER = "*"
PLACE = 16
CONTROL = True
CHANGES_MASKS = True

HALF = 0.5
"""Share of the training after which the network is pruned."""


def masks(networks: Unpruned, percent: float) -> Parameters:
    """Keep all weights at first."""
    weights = networks.weights.items()
    return {name: torch.ones_like(value, dtype=torch.bool) for name, value in weights}


def change_updates(updates: int) -> set[int]:
    """Numbers of the updates after which a mask changes, of so many."""
    return {round(HALF * updates)}


def changed(row: TrainedRow) -> Parameters:
    """Keep the largest weights of each group."""
    magnitudes = {name: value.abs() for name, value in row.weights.items()}
    return largest_in_groups(magnitudes, row.groups, row.percent)
