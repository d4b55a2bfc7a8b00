"""GraSP's masks shuffled within each layer, which keeps the layers' counts."""

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.criteria import grasp
from triptych.rl.pruning.unpruned import Unpruned

LABEL = "Shuffled GraSP"
COLOUR = "#c77fb9"
DASH = (0, (4, 1.5, 1, 1.5))
MARKER = "^"
PLACE = 11
CONTROL = True
BATCH = "grasp_batch"


def masks(networks: Unpruned, percent: float) -> Parameters:
    return networks.shuffled_within_layers(grasp.masks(networks, percent))
