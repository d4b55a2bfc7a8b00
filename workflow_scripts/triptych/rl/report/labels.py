"""What plots and tables of the offline-RL study call things, and their colours."""

from triptych.rl.algorithms.registry import ALGORITHMS
from triptych.rl.pruning.methods import METHODS

# Okabe and Ito's palette, told apart by every common form of colour vision.
ALGORITHM_COLOURS = {name: each.colour for name, each in ALGORITHMS.items()}
METHOD_COLOURS = {name: each.colour for name, each in METHODS.items()}
# The paper's Figure 4 draws dense in blue and sparse indices in green; so do we.
FORMAT_COLOURS = {
    "dense": "#0072b2",
    "coo": "#009e73",
    "packed_fp32": "#d55e00",
    "packed_fp16": "#e69f00",
}

TASK_LABELS = {"hopper": "Hopper", "walker2d": "Walker2d", "halfcheetah": "HalfCheetah"}
METHOD_LABELS = {name: each.label for name, each in METHODS.items()}
FORMAT_LABELS = {
    "dense": "dense",
    "coo": "sparse indices (COO)",
    "packed_fp32": "packed, fp32",
    "packed_fp16": "packed, fp16",
}
NETWORK_LABELS = {"actor": "Actor", "critic": "Critic", "vae": "VAE"}
