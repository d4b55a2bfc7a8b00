"""Controls: counts by their definitions, SynFlow against a sum over paths."""

from itertools import product

import numpy as np
import pytest
import torch

from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.pruning.criteria.synflow import synaptic_flow
from triptych.rl.pruning.keeping import count_kept, erk_counts, even_counts

ACTOR = [("actor.l1", "actor.l2", "actor.l3")]
SIZES = {"a": (23, 64), "b": (64, 64), "c": (64, 6)}


def scores():
    return {name: torch.zeros(2, *shape) for name, shape in SIZES.items()}


@pytest.mark.parametrize("sparsity", [10, 95])
def test_counts_of_layers_are_even_or_go_by_inputs_plus_outputs_until_a_layer_is_whole(sparsity):
    kept, ratios = count_kept(scores(), sparsity), []
    even, erk = (rule(scores(), kept) for rule in (even_counts, erk_counts))
    assert sum(even.values()) == sum(erk.values()) == kept
    for name, (inputs, outputs) in SIZES.items():
        size = inputs * outputs
        assert abs(even[name] - size * (1 - sparsity / 100)) <= 1
        if erk[name] < size:
            ratios.append(erk[name] / (inputs + outputs))
            assert ratios[-1] == pytest.approx(ratios[0], abs=4 / (inputs + outputs))


def test_one_round_of_synflow_scores_a_weight_by_all_paths_through_it(monkeypatch):
    """R is a sum over paths of products of |weights|; a weight's score, that of its paths."""
    monkeypatch.setattr("triptych.rl.pruning.criteria.synflow.ROUNDS", 1)
    parameters = Bcq.initialise(Widths((3, 4), (3, 4), 3), 3, 2, [0])
    weights = {f"actor.l{n}.weight": parameters[f"actor.l{n}.weight"] for n in (1, 2, 3)}
    one, two, three = (value[0].abs().double().numpy() for value in weights.values())
    through = {name: np.zeros(value.shape[1:]) for name, value in weights.items()}
    for i, j, k, m in product(range(5), range(3), range(4), range(2)):
        flow = one[i, j] * two[j, k] * three[k, m]
        for name, place in zip(weights, ((i, j), (j, k), (k, m)), strict=True):
            through[name][place] += flow
    ranked = np.sort(np.concatenate([each.ravel() for each in through.values()]))[::-1]
    masks = synaptic_flow(weights, ACTOR, 60)
    kept = sum(int(mask.sum()) for mask in masks.values())
    assert kept == count_kept(weights, 60)
    for name, mask in masks.items():
        assert np.array_equal(mask[0].numpy(), through[name] >= ranked[kept - 1])


def test_synflow_never_empties_a_layer_where_magnitude_does():
    """Tanaka et al. 2020, theorem 3: flow is conserved, so the last weight of a layer stays."""
    parameters = Bcq.initialise(Widths((64, 64), (64, 64), 8), 11, 3, [0, 1])
    weights = {f"actor.l{n}.weight": parameters[f"actor.l{n}.weight"] for n in (1, 2, 3)}
    masks = synaptic_flow(weights, ACTOR, 99.5)
    for mask in masks.values():
        assert mask.flatten(1).any(1).all()
