"""Random weights, layers' shares by Erdős-Rényi's rule (Evci et al. 2020)."""

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.keeping import erk_counts
from triptych.rl.pruning.unpruned import Unpruned

LABEL = "Random, ERK"
COLOUR = "#b8860b"
DASH = (0, (4, 2))
MARKER = "P"
PLACE = 13
CONTROL = True


def masks(networks: Unpruned, percent: float) -> Parameters:
    return networks.largest_by_layer(networks.uniform_scores(), erk_counts, percent)
