"""Random weights, the same share of every layer."""

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.keeping import even_counts
from triptych.rl.pruning.unpruned import Unpruned

LABEL = "Random by layer"
COLOUR = "#e69f00"
DASH = (0, (1, 1.6))
MARKER = "s"
PLACE = 12
CONTROL = True


def masks(networks: Unpruned, percent: float) -> Parameters:
    return networks.largest_by_layer(networks.uniform_scores(), even_counts, percent)
