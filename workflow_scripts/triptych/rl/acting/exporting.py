"""Export a policy for machines without PyTorch: what acts of it, packed, with a reader in C.

Arrays are a dict in torch's layout, as in `inference`.
"""

from importlib.resources import files

import numpy as np

from triptych.rl.acting.inference import LAYERS, Arrays, networks_of
from triptych.rl.methods import ALGORITHMS
from triptych.rl.networks.algorithm import algorithm_class
from triptych.rl.pruning.storage import SCALE, SHIFT

READER = "policy.c"
"""The reader of packed files, which needs nothing of this library."""


def acting_arrays(arrays: Arrays, algorithm: str) -> dict[str, np.ndarray]:
    """The arrays that acting needs: of BCQ decoder, actor and Q1, of BC the decoder, of others the
    actor; and the scaling of observations, if there is one.

    Raises ValueError for an unknown algorithm, a missing array, or shapes that don't fit.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"its algorithm is {algorithm!r}; expected one of {', '.join(ALGORITHMS)}")
    groups = algorithm_class(algorithm).acting_groups
    layers = [layer for group in groups for layer in LAYERS[group]]
    names = {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
    if missing := sorted(names - arrays.keys()):
        raise ValueError(f"it is a policy of {algorithm} and has no array {missing[0]}")
    acting = {name: array for name, array in arrays.items() if name in {*names, SHIFT, SCALE}}
    networks_of(acting)
    return acting


def reader() -> str:
    return (files("triptych.rl.acting") / "readers" / READER).read_text(encoding="utf-8")
