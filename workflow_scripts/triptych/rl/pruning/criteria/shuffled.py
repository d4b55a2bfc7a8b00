"""SNIP's masks shuffled within each layer, which keeps the layers' counts."""

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.criteria import snip
from triptych.rl.pruning.unpruned import Unpruned

LABEL = "Shuffled SNIP"
COLOUR = "#44b391"
DASH = (0, (4, 1.5, 1, 1.5))
MARKER = "v"
PLACE = 10
CONTROL = True
BATCH = "snip_batch"


def masks(networks: Unpruned, percent: float) -> Parameters:
    return networks.shuffled_within_layers(snip.masks(networks, percent))
