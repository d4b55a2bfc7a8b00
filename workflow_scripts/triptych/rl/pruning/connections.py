"""What a mask leaves connected: the weights of each input, and those on a path to an output."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.rl.algorithms.observations import FIRST_LAYERS
from triptych.rl.algorithms.registry import CHAINS, Algorithm, Bcq
from triptych.rl.tasks.task import Task

logger = logging.getLogger(__name__)

Masks = Mapping[str, NDArray[np.bool_]]
"""Boolean [K, in, out] by weight name."""


def on_paths(masks: Masks) -> dict[str, NDArray[np.bool_]]:
    """The kept weights that lie on a path of kept weights from an input to an output.

    A network's other weights change nothing that depends on what it sees. Encoder and decoder
    count by themselves.
    """
    found = {}
    for chain in CHAINS:
        steps = [[f"{layer}.weight" for layer in step] for step in chain.steps]
        if steps[0][0] not in masks:
            continue
        first = masks[steps[0][0]]
        # Units that an input reaches, by step.
        reached: list[Any] = [np.ones(first.shape[:2], np.bool_)]
        for (name,) in steps[:-1]:
            reached.append((masks[name] & reached[-1][..., None]).any(1))
        leads: Any = np.zeros_like(reached[-1])  # units that lead to an output
        for name in steps[-1]:
            found[name] = masks[name] & reached[-1][..., None]
            leads |= masks[name].any(2)
        for (name,), seen in zip(reversed(steps[:-1]), reversed(reached[:-1]), strict=True):
            found[name] = masks[name] & seen[..., None] & leads[:, None]
            leads = (masks[name] & leads[:, None]).any(2)
    return {name: found[name] for name in masks}


def input_table(
    rows: pd.DataFrame, masks: Masks, task: Task, algorithm: type[Algorithm] = Bcq
) -> pd.DataFrame:
    """Weights kept of each observation in each layer that sees it, one row a run and input.

    rows: the runs (`sweep.KEYS`), in the order of the masks; all of `task`. A cut input, of which
    a layer keeps nothing, is logged. Raises ValueError where config names fewer or more inputs.
    """
    names = task.input_names(algorithm.sizes(masks)[0])
    records = []
    for k, row in enumerate(rows.to_dict("records")):
        cut = []
        for layer in (name for name in FIRST_LAYERS if f"{name}.weight" in masks):
            mask = masks[f"{layer}.weight"][k, : len(names)]
            kept = mask.sum(1)
            records += [
                {**row, "layer": layer, "input": i, "name": name, "weights": mask.shape[1]}
                | {"kept": int(kept[i])}
                for i, name in enumerate(names)
            ]
            if gone := [name for name, count in zip(names, kept, strict=True) if not count]:
                cut.append(f"{layer} from {', '.join(gone)}")
        if cut:
            logger.warning("the mask of %s cuts %s", row, "; ".join(cut))
    return pd.DataFrame(records)
