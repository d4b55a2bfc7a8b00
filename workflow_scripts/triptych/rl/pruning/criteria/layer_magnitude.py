"""The largest initial weights of each layer, the same share of every layer."""

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.keeping import even_counts
from triptych.rl.pruning.unpruned import Unpruned

LABEL = "Magnitude by layer"
COLOUR = "#56b4e9"
DASH = (0, (4, 2))
MARKER = "D"
PLACE = 14
CONTROL = True


def masks(networks: Unpruned, percent: float) -> Parameters:
    return networks.largest_by_layer(networks.magnitudes(), even_counts, percent)
