"""The ways to prune and to see: what a config may name, and how tables and figures show each.

A criterion scores weights by a loss (`single_shot.py` has its function under the same name); a
control keeps as many weights and looks at no loss (`controls.py`).
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    """A way to prune.

    batch: the key of `rl.pruning` that says how many transitions a criterion scores with. dash,
    marker: of a control's line. scores: whose scores rank the weights, its own unless named.
    layers: how many weights a layer keeps: as the ranks of all layers of a group say (`ranked`),
    the same share of each (`even`), or by Erdős-Rényi's rule (`erk`). shuffled: which those are is
    drawn anew. changes: whether the mask changes in training: `once`, from dense, or `often`.
    """

    label: str
    colour: str
    batch: str = "snip_batch"
    dash: Any = "solid"
    marker: str = "o"
    scores: str = ""
    layers: str = "ranked"
    shuffled: bool = False
    changes: str = ""


DENSE = {"dense": Method("Dense", "#1f2933")}

CRITERIA = {
    "snip": Method("SNIP", "#009e73"),
    "grasp": Method("GraSP", "#aa4499", "grasp_batch"),
}

DOTS, DASHES, BOTH = (0, (1, 1.6)), (0, (4, 2)), (0, (4, 1.5, 1, 1.5))
CONTROLS = {
    "shuffled": Method(
        "Shuffled SNIP", "#44b391", dash=BOTH, marker="v", scores="snip", shuffled=True
    ),
    "shuffled_grasp": Method(
        "Shuffled GraSP", "#c77fb9", "grasp_batch", BOTH, "^", "grasp", shuffled=True
    ),
    "random": Method("Random by layer", "#e69f00", dash=DOTS, marker="s", layers="even"),
    "erk": Method("Random, ERK", "#b8860b", dash=DASHES, marker="P", scores="random", layers="erk"),
    "layer_magnitude": Method(
        "Magnitude by layer", "#56b4e9", dash=DASHES, marker="D", scores="magnitude", layers="even"
    ),
    "synflow": Method("SynFlow", "#0072b2", dash=BOTH, marker="X"),
    "trained_magnitude": Method(
        "Magnitude after training", "#1f4e79", dash=DASHES, marker="*", changes="once"
    ),
    "set": Method(
        "SET (dynamic)",
        "#6a3d9a",
        dash=BOTH,
        marker="h",
        scores="random",
        layers="erk",
        changes="often",
    ),
    "magnitude": Method("Magnitude, global (straw man)", "#8a94a0", dash=DOTS, marker="d"),
}

OBSERVATIONS = {"raw": "raw observations", "normalised": "normalised observations"}
"""How networks may see them (`algorithms/observations.py`), and how tables and figures show it."""

PRUNED = {**CRITERIA, **CONTROLS}
METHODS = {**DENSE, **PRUNED}
"""In the order of tables and figures."""
