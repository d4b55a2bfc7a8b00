"""Masks that change while networks train: counts, places and what becomes of the weights."""

import itertools

import numpy as np
import pytest
import torch
from stacks import BCQ, CPU, STEPS, batches, runs

from triptych.rl.networks.sampling import DeviceData
from triptych.rl.pruning.criteria.set import CHANGES, REPLACED
from triptych.rl.pruning.stack import prune
from triptych.rl.training.learner import Learner
from triptych.rl.training.train import ChangingMasks

UPDATES = 80
METHODS = ["trained_magnitude", "set", "snip", "dense"]


@pytest.fixture(scope="module")
def trained(narrow, transitions):
    """A stack's learner, and after each update what its weights and masks were."""
    rows = runs(*((method, 0 if method == "dense" else 80, 0) for method in METHODS))
    data = DeviceData(transitions, CPU, torch.float32)
    pruning = {"default": {"snip_batch": 10, "iterations": 1}}
    parameters, masks = prune(rows, narrow, pruning, data, BCQ)
    changing = ChangingMasks(rows, list(BCQ.groups().values()), UPDATES)
    learner = Learner(parameters, masks, BCQ, STEPS, masks_change=True)
    learner.set_rate(1e-2)
    history = []
    for update, batch, noise in batches(BCQ, transitions, [0] * 4, UPDATES, torch.float32):
        learner.update(batch, noise)
        before = {name: value.clone() for name, value in learner.parameters.items()}
        changing.after(update + 1, learner)
        history.append((before, learner.masks()))
    return learner, history


def counts(masks, k):
    return {name: int(mask[k].sum()) for name, mask in masks.items()}


def test_a_network_is_dense_until_half_and_then_keeps_its_largest_weights(trained):
    _learner, history = trained
    assert all(mask[0].all() for mask in history[UPDATES // 2 - 2][1].values())
    before, masks = history[UPDATES // 2 - 1]
    for names in BCQ.groups().values():
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
    for name, mask in learner.masks().items():
        assert not learner.parameters[name][~mask].any()
        assert torch.equal(history[-1][1][name][2:], history[0][1][name][2:])
