"""The ways to prune: what a config may name, and how tables and figures show each.

A criterion scores weights by a loss (`rl/pruning.py` has its function under the same name); a
control keeps as many weights and looks at no loss.
"""

from dataclasses import dataclass
from typing import Any

GREY = "#8a94a0"


@dataclass(frozen=True)
class Method:
    """A way to prune.

    batch: the key of `rl.pruning` that says how many transitions a criterion scores with. dash,
    marker: of a control's line, as matplotlib has them.
    """

    label: str
    colour: str = GREY
    batch: str = "snip_batch"
    dash: Any = "solid"
    marker: str = "o"


DENSE = {"dense": Method("Dense", "#1f2933")}

CRITERIA = {
    "snip": Method("SNIP", "#009e73"),
    "grasp": Method("GraSP", "#aa4499", "grasp_batch"),
}

CONTROLS = {
    "random": Method("Random", dash=(0, (1, 1.6)), marker="s"),
    "magnitude": Method("Magnitude", dash=(0, (4, 2)), marker="D"),
    "shuffled": Method("Shuffled SNIP", dash=(0, (4, 1.5, 1, 1.5)), marker="v"),
}

METHODS = {**DENSE, **CRITERIA, **CONTROLS}
"""In the order of tables and figures."""
