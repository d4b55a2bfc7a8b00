"""Runs that train with their kept weights alone, against dense ones whose weights are masked."""

import numpy as np
import pandas as pd
import pytest
import torch
from stacks import BC, BCQ, CPU, IQL, STEPS, TD3_BC, random_masks, runs, stack, train_bcq, updated
from torch.nn.functional import linear

from triptych.rl.acting.latency import update_times
from triptych.rl.networks.sparse import SparseParameters
from triptych.rl.training.learner import SPARSE_DENSITY, Learner, sparse_runs

SEEDS = [0, 1, 0]


@pytest.mark.parametrize("kept", [0.07, 0.5, 1.0, 0.0])
def test_a_layer_and_its_gradients_equal_each_networks_masked_linear_map(kept):
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(3, 7, 5, generator=generator, dtype=torch.float64)
    bias = torch.randn(3, 1, 5, generator=generator, dtype=torch.float64)
    x = torch.randn(3, 11, 7, generator=generator, dtype=torch.float64)
    mask = torch.rand(3, 7, 5, generator=generator) < kept
    mask[1] = False  # a network of which nothing is left in this layer
    sparse = SparseParameters.pruned({"l.weight": weight, "l.bias": bias}, {"l.weight": mask})
    given = [sparse["l.weight"].requires_grad_(), sparse["l.bias"].requires_grad_()]
    own = x.clone().requires_grad_()
    out = sparse.linear("l", own)
    pull = torch.randn(out.shape, generator=generator, dtype=torch.float64)
    of_values, of_bias, of_x = torch.autograd.grad((out * pull).sum(), [*given, own])
    of_weight = sparse.patterns["l.weight"].dense(of_values)
    for k in range(3):
        leaves = (weight[k] * mask[k]).T, bias[k, 0], x[k]
        leaves = [leaf.clone().requires_grad_() for leaf in leaves]
        expected = linear(leaves[2], leaves[0], leaves[1])
        torch.testing.assert_close(out[k], expected, rtol=0, atol=1e-14)
        w, b, inputs = torch.autograd.grad((expected * pull[k]).sum(), leaves)
        torch.testing.assert_close(of_weight[k], w.T * mask[k], rtol=0, atol=1e-14)
        torch.testing.assert_close(of_bias[k, 0], b, rtol=0, atol=1e-14)
        torch.testing.assert_close(of_x[k], inputs, rtol=0, atol=1e-14)
    assert torch.equal(sparse.dense()["l.weight"], weight * mask)


@pytest.mark.parametrize("sparse", [(0, 1, 2), (0, 2)])
@pytest.mark.parametrize("algorithm", [BC, BCQ, TD3_BC, IQL])
def test_fifty_updates_equal_those_of_masked_dense_networks(narrow, transitions, algorithm, sparse):
    parameters = stack(algorithm, narrow, SEEDS)
    masks = random_masks(parameters, 0.07)
    masked = Learner(parameters, masks, algorithm, STEPS)
    mixed = Learner(parameters, masks, algorithm, STEPS, sparse=sparse)
    expected, found = (updated(each, algorithm, transitions, SEEDS, 50) for each in (masked, mixed))
    for network, loss in expected.items():
        torch.testing.assert_close(found[network], loss, rtol=0, atol=1e-12)
    for name, value in mixed.parameters.items():
        torch.testing.assert_close(value, masked.parameters[name], rtol=0, atol=1e-12)
        assert name not in masks or not value[~masks[name]].any()
    assert all(torch.equal(mask, masks[name]) for name, mask in mixed.masks().items())


def test_a_sparse_state_holds_the_kept_weights_and_restores_to_the_byte(narrow, transitions):
    parameters = stack(BCQ, narrow, SEEDS, torch.float32)
    masks = random_masks(parameters, 0.07)
    learner, again = (Learner(parameters, masks, BCQ, STEPS, sparse=(0, 1, 2)) for _ in range(2))
    updated(learner, BCQ, transitions, SEEDS, 7, torch.float32)
    weights = sum(int(masks[f"vae.{layer}.weight"].sum()) for layer in ("e1", "e2", "d1", "d2"))
    state = learner.state()
    for kind in ("parameters", "adam/exp_avg", "adam/exp_avg_sq"):
        stored = (state[f"sparse/{kind}/vae.{n}.weight"] for n in ("e1", "e2", "d1", "d2"))
        assert sum(value.numel() for value in stored) == weights
    again.restore({name: value.clone() for name, value in state.items()})
    for each in (learner, again):
        updated(each, BCQ, transitions, SEEDS, 3, torch.float32)
    assert all(torch.equal(again.state()[name], value) for name, value in state.items())


def test_a_sparse_run_that_diverges_is_cleared_and_its_neighbours_go_on(narrow, transitions):
    parameters = stack(BCQ, narrow, SEEDS, torch.float32)
    masks = random_masks(parameters, 0.07)
    undisturbed, spoiled = (Learner(parameters, masks, BCQ, STEPS, sparse=(1, 2)) for _ in range(2))
    for learner in (undisturbed, spoiled):
        updated(learner, BCQ, transitions, SEEDS, 3, torch.float32)
    spoiled.state()["sparse/parameters/vae.d2.bias"][1] = torch.nan  # of the stack's third run
    assert spoiled.finite().tolist() == [True, True, False]
    spoiled.clear([2])
    assert spoiled.finite().all()
    for name, value in spoiled.parameters.items():
        assert not value[2].any()
        assert torch.equal(value[:2], undisturbed.parameters[name][:2])


def test_runs_train_sparsely_by_the_density_of_what_learns_where_masks_stay():
    few = np.arange(100).reshape(1, 10, 10).repeat(3, 0) < 100 * SPARSE_DENSITY
    masks = {"vae.d2.weight": few, "actor.l2.weight": np.ones((3, 10, 10), bool)}
    rows = runs(("snip", 95, 0), ("set", 95, 1), ("grasp", 95, 0))
    assert sparse_runs(rows, masks, ("vae",), CPU) == (0, 2)
    assert sparse_runs(rows, masks, ("vae", "actor"), CPU) == ()
    assert sparse_runs(rows, masks, ("vae",), torch.device("meta")) == ()
    few[0, 8] = True
    assert sparse_runs(rows, masks, ("vae",), CPU) == (2,)


def test_a_trained_stack_has_the_layout_of_a_dense_one(narrow, transitions, tmp_path):
    parameters = stack(BCQ, narrow, SEEDS, torch.float32)
    masks = random_masks(parameters, 0.07)
    masks = {name: mask | (torch.arange(3) == 1)[:, None, None] for name, mask in masks.items()}
    rows, shown = runs(("snip", 95, 0), ("dense", 95, 1), ("grasp", 95, 0)), []

    def show(scores, losses):
        shown.append((scores, losses))

    expected, ours = (
        train_bcq(
            tmp_path / str(len(sparse)),
            rows,
            parameters,
            masks,
            transitions,
            show=show,
            sparse=sparse,
        )
        for sparse in ((), (0, 2))
    )
    # Both tables are there after each evaluation, the last of them whole.
    assert [sorted(set(scores["update"])) for scores, _ in shown] == [[10], [10, 20]] * 2
    assert [len(losses) for _, losses in shown] == [3, 6, 3, 6]
    pd.testing.assert_frame_equal(shown[-1][0], ours.scores)
    for name, array in expected.arrays.items():
        assert ours.arrays[name].dtype == array.dtype
        np.testing.assert_allclose(ours.arrays[name], array, rtol=0, atol=1e-5)
    keys = ["method", "seed", "update"]
    pd.testing.assert_frame_equal(ours.losses[keys], expected.losses[keys])
    for column in ("vae_loss", "critic_loss", "actor_loss"):
        np.testing.assert_allclose(
            ours.losses[column].astype(float), expected.losses[column].astype(float), rtol=1e-4
        )
    pd.testing.assert_frame_equal(
        ours.scores.drop(columns=["return", "score_normalised", "steps"]),
        expected.scores.drop(columns=["return", "score_normalised", "steps"]),
    )


def test_updates_are_timed_with_kept_weights_alone_beside_the_dense_twins(narrow, transitions):
    parameters = stack(BCQ, narrow, SEEDS, torch.float32)
    masks = random_masks(parameters, 0.1)
    initial, first = ({n: v[:1] for n, v in each.items()} for each in (parameters, masks))
    table = update_times(initial, first, 0, BCQ, transitions, repeats=2)
    cases = [(part, kernel) for part in ("BC", "BCQ") for kernel in ("dense", "embedding_bag")]
    named = table["part"].str.cat(table["kernel"], sep=" ")
    assert named.to_list() == [f"{part} update torch {kernel}" for part, kernel in cases]
    assert table["maximum_difference"].between(0, 1e-6).all()
    assert (table["microseconds_median"] >= table["microseconds_minimum"]).all()
    assert (table["repeats"] == 2).all() and (table["batch"] == 100).all()
