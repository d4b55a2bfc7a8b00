"""Masks that change while networks train: counts, places and what becomes of the weights."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.pruning.criteria.set import CHANGES, REPLACED
from triptych.rl.pruning.stack import Shot, prune
from triptych.rl.pruning.unpruned import PruningSettings
from triptych.rl.training.changing_masks import ChangingMasks
from triptych.rl.training.learner import Learner, StepSettings

CPU = torch.device("cpu")
UPDATES = 80
METHODS = ["trained_magnitude", "set", "snip", "dense"]


@pytest.fixture
def trained(narrow, transitions, bcq_settings):
    """A stack's learner after each update, with what its weights and masks were."""
    rows = pd.DataFrame(
        [
            {"task": "hopper", "observations": "raw", "method": method, "seed": 0}
            | {"pruning": "default", "sparsity_percent": 0 if method == "dense" else 80}
            for method in METHODS
        ]
    )
    data = DeviceData(transitions, CPU, torch.float32)
    shots = {"default": Shot(PruningSettings({"snip_batch": 10}, 1, "part"), data)}
    parameters, masks = prune(rows, narrow, shots, bcq_settings)
    changing = ChangingMasks(rows, list(bcq_settings.groups("part").values()), UPDATES)
    steps = StepSettings(batch=20, learning_rate=1e-2, tau=0.005)
    learner = Learner(parameters, masks, bcq_settings, steps, masks_change=True)
    draws = Draws([0] * 4, data, 20, bcq_settings)
    history = []
    for update in range(UPDATES):
        index, noise = draws.at(update)
        learner.update(data.batch(index), noise)
        before = {name: value.detach().clone() for name, value in learner.parameters.items()}
        changing.after(update + 1, learner)
        history.append((before, {name: mask.clone() > 0 for name, mask in learner.masks.items()}))
    return learner, history


def counts(masks, k):
    return {name: int(mask[k].sum()) for name, mask in masks.items()}


def test_a_network_is_dense_until_half_and_then_keeps_its_largest_weights(trained):
    _learner, history = trained
    assert all(mask[0].all() for mask in history[UPDATES // 2 - 2][1].values())
    before, masks = history[UPDATES // 2 - 1]
    for names in Bcq.groups("part").values():
        sizes = np.concatenate([before[name][0].abs().flatten().numpy() for name in names])
        kept = np.concatenate([masks[name][0].flatten().numpy() for name in names])
        assert kept.sum() == round(0.2 * len(kept))
        assert sizes[kept].min() >= sizes[~kept].max()
    assert counts(history[-1][1], 0) == counts(masks, 0)


def test_an_evolving_mask_keeps_each_layers_count_and_moves_its_share(trained):
    _, history = trained
    first, moved = history[0][1], 0
    for (_, old), (before, new) in itertools.pairwise(history):
        assert counts(new, 1) == counts(first, 1)
        if all(torch.equal(old[name][1], new[name][1]) for name in new):
            continue
        moved += 1
        for name in new:
            kept, gone = old[name][1], old[name][1] & ~new[name][1]
            # What went is smaller than what stayed, and may have come back by the draw.
            assert int(gone.sum()) <= round(REPLACED * int(kept.sum()))
            stayed = before[name][1][kept & new[name][1]].abs()
            if gone.any() and len(stayed):
                share = round(REPLACED * int(kept.sum())) / int(kept.sum())
                bound = (
                    before[name][1][kept].abs().sort().values[round(share * int(kept.sum())) - 1]
                )
                assert before[name][1][gone].abs().max() <= bound
    assert moved == CHANGES


def test_what_is_cut_is_zero_and_masks_of_other_methods_stay(trained):
    learner, history = trained
    for name, mask in learner.masks.items():
        weight = learner.parameters[name].detach()
        assert (weight[mask == 0] == 0).all()
        assert torch.equal(history[-1][1][name][2:], history[0][1][name][2:])
