"""Paths that masks leave: against gradients of a linear network with positive weights."""

import numpy as np
import pandas as pd
import pytest
import torch

from triptych.rl.algorithms.networks import initialise
from triptych.rl.algorithms.registry import Widths
from triptych.rl.pruning.stack import input_table, on_paths
from triptych.rl.tasks.task import task_named

ROW = {"task": "hopper", "observations": "raw", "method": "snip", "sparsity_percent": 95, "seed": 0}


@pytest.fixture
def masks():
    random = np.random.default_rng(0)
    parameters = initialise(Widths((12, 10), (14, 9), 16), 11, 3, [0, 1])
    return {
        name: random.random(value.shape) < 0.08
        for name, value in parameters.items()
        if name.endswith(".weight")
    }


@pytest.mark.parametrize(
    "chain",
    [
        ["actor.l1", "actor.l2", "actor.l3"],
        ["critic.l4", "critic.l5", "critic.l6"],
        ["vae.d1", "vae.d2", "vae.d3"],
    ],
)
def test_a_weight_is_on_a_path_where_it_can_change_an_output(masks, chain):
    """With positive weights and inputs nothing cancels: a gradient of zero is no path."""
    found = on_paths(masks)
    random = np.random.default_rng(1)
    weights = []
    for layer in chain:
        mask = masks[f"{layer}.weight"]
        positive = torch.from_numpy(mask * random.uniform(0.5, 1.5, mask.shape))
        weights.append(positive.requires_grad_())
    units = torch.ones(2, 1, weights[0].shape[1], dtype=torch.float64)
    for weight in weights:
        units = units @ weight
    for layer, gradient, weight in zip(
        chain, torch.autograd.grad(units.sum(), weights), weights, strict=True
    ):
        expected = (gradient != 0) & (weight != 0)
        assert np.array_equal(found[f"{layer}.weight"], expected.numpy())


def test_an_encoders_weights_count_by_either_of_its_outputs(masks):
    masks["vae.mean.weight"][:] = False
    found = on_paths(masks)
    assert not found["vae.mean.weight"].any() and found["vae.log_std.weight"].any()
    assert found["vae.e2.weight"].any()


def test_an_input_that_a_mask_cuts_is_named(masks, caplog):
    whole = {name: np.ones((1, *mask.shape[1:]), bool) for name, mask in masks.items()}
    whole["vae.d1.weight"][0, 1] = False
    table = input_table(pd.DataFrame([ROW]), whole, task_named("hopper"))
    cut = table[table["kept"] == 0]
    assert cut[["layer", "name", "weights"]].to_numpy().tolist() == [["vae.d1", "torso angle", 16]]
    assert len(table) == 5 * 11
    assert "cuts vae.d1 from torso angle" in caplog.text
