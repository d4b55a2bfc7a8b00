"""The largest initial weights of each group: layers of wide inputs lose nearly all of theirs."""

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.unpruned import Unpruned, largest_in_groups

LABEL = "Magnitude, global (straw man)"
COLOUR = "#8a94a0"
DASH = (0, (1, 1.6))
MARKER = "d"
PLACE = 18
CONTROL = True


def masks(networks: Unpruned, percent: float) -> Parameters:
    return largest_in_groups(networks.magnitudes(), networks.groups(), percent)
