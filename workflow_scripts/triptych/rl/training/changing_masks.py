"""Masks that change while their networks train: pruning after training, and sparse evolution.

A mask changes by the weights as they then stand and by draws that are keyed by task, seed, update
and layer, so that a training that resumes makes the same masks.
"""

import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.rl.algorithms.networks import Parameters
from triptych.rl.pruning.controls import count_kept, keep_count
from triptych.rl.pruning.methods import METHODS
from triptych.rl.pruning.single_shot import groups, weights_of
from triptych.rl.training.learner import Learner

HALF = 0.5
"""When a dense network is pruned by magnitude: it trains as long after as before."""
CHANGES, LAST_CHANGE = 20, 0.75
"""Changes of a mask that evolves, and the part of the training by which they are over."""
REPLACED = 0.3
"""Share of a layer's weights that a change replaces (Mocanu et al. 2018, zeta)."""


class ChangingMasks:
    """When and how the masks of a stack's rows change.

    rows: the runs (`sweep.KEYS`), in the order of the stack. scope: in which the weights of a
    network are ranked together (`pruning.groups`).
    """

    def __init__(self, rows: pd.DataFrame, scope: str, updates: int) -> None:
        self._scope = scope
        self._rows = rows.reset_index(drop=True).to_dict("records")
        ways = [METHODS[str(row["method"])].changes for row in self._rows]
        self._pruned = [k for k, way in enumerate(ways) if way == "once"]
        self._evolving = [k for k, way in enumerate(ways) if way == "often"]
        self._at_half = round(HALF * updates)
        every = max(1, round(LAST_CHANGE * updates / CHANGES))
        self._at = {every * (n + 1) for n in range(CHANGES)}

    def __bool__(self) -> bool:
        """Whether any row's mask changes."""
        return bool(self._pruned or self._evolving)

    def after(self, update: int, learner: Learner) -> None:
        """Change the masks that change after update number `update` (from 1)."""
        if update == self._at_half:
            for k in self._pruned:
                learner.change_masks(k, self._by_magnitude(k, learner.parameters))
        if update in self._at:
            for k in self._evolving:
                learner.change_masks(k, self._evolved(k, update, learner))

    def _by_magnitude(self, k: int, parameters: Parameters) -> Parameters:
        """The largest weights of each group of a trained network (Han et al. 2015)."""
        masks: Parameters = {}
        for names in groups(weights_of(parameters), self._scope).values():
            own = {name: parameters[name].detach()[k : k + 1].abs() for name in names}
            masks |= keep_count(own, count_kept(own, self._rows[k]["sparsity_percent"]))
        return masks

    def _evolved(self, k: int, update: int, learner: Learner) -> Parameters:
        """Sparse evolutionary training (SET, Mocanu et al. 2018): in each layer the smallest of the
        kept weights go, and as many others come, at random, from zero."""
        task, seed = self._rows[k]["task"], self._rows[k]["seed"]
        masks = {}
        for name, each in weights_of(learner.parameters).items():
            weight, kept = each.detach()[k], learner.masks[name][k] > 0
            generator = keyed_generator(weight.device, "evolve", task, seed, update, name)
            drawn = torch.rand(weight.shape, generator=generator, device=weight.device)
            masks[name] = _replaced(weight, kept, drawn)[None]
        return masks


def _replaced(weight: Tensor, kept: Tensor, drawn: Tensor) -> Tensor:
    count, free = int(kept.sum()), int((~kept).sum())
    going = min(round(REPLACED * count), free)
    stay = keep_count({"": weight.abs().masked_fill(~kept, -1.0)[None]}, count - going)[""][0]
    come = keep_count({"": drawn.masked_fill(kept, -1.0)[None]}, going)[""][0]
    return stay | come
