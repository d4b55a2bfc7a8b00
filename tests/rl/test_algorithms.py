"""Stacked updates against the references' one network at a time, and against themselves."""

import dataclasses

import pytest
import torch
from plain_algorithms import PlainIql, PlainTd3Bc
from stacks import BC, BCQ, HOPPER, IQL, STEPS, TD3_BC, batches, random_masks, stack, updated

from benchmarks.rl.plain import PlainBCQ
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.training.learner import Learner, StepSettings

SEEDS = [4, 9, 4]


def learnt(algorithm, parameters, masks, transitions, seeds, updates, kinds=None):
    """The state of the networks after these updates in float64."""
    learner = Learner(parameters, masks, algorithm, STEPS)
    updated(learner, algorithm, transitions, seeds, updates, kinds=kinds)
    return {name.removeprefix("dense/"): value for name, value in learner.state().items()}


def plain(algorithm, widths, parameters, k):
    """The reference with row k's parameters."""
    if algorithm is BCQ:
        reference = PlainBCQ(*HOPPER, widths, BCQ, STEPS)
        reference.load(parameters, k)
        return reference
    kind = PlainTd3Bc if algorithm is TD3_BC else PlainIql
    return kind(parameters, k, STEPS.learning_rate, algorithm)


def layers_of(reference):
    """Layers and target layers of a reference by name."""
    if not isinstance(reference, PlainBCQ):
        for part, networks in (("parameters", reference.networks), ("targets", reference.targets)):
            for layers, network in networks.items():
                linears = [module for module in network if isinstance(module, torch.nn.Linear)]
                yield from (
                    (f"{part}/{n}", linear) for n, linear in zip(layers, linears, strict=True)
                )
        return
    for part, suffix in (("parameters", ""), ("targets", "_target")):
        for network in ("actor", "critic", "vae")[: 2 if suffix else 3]:
            named = getattr(reference, network + suffix).named_children()
            yield from ((f"{part}/{network}.{layer}", linear) for layer, linear in named)


@pytest.mark.parametrize("algorithm", [BCQ, TD3_BC, IQL])
def test_stacked_updates_equal_the_reference_of_each_network(narrow, transitions, algorithm):
    kinds = ["raw", "normalised", "raw"]
    parameters = stack(algorithm, narrow, SEEDS)
    found = learnt(algorithm, parameters, {}, transitions, SEEDS, 25, kinds)
    for k in range(len(SEEDS)):
        reference = plain(algorithm, narrow, parameters, k)
        for _, batch, noise in batches(algorithm, transitions, SEEDS, 25, kinds=kinds):
            one = {f.name: getattr(batch, f.name)[k] for f in dataclasses.fields(batch)}
            drawn = {name: each[k] for name, each in noise.items()}
            reference.update(dataclasses.replace(batch, **one), drawn)
        layers = dict(layers_of(reference))
        names = {name.rpartition(".")[0] for name in found if name.startswith(("par", "tar"))}
        assert layers.keys() == names - {"parameters/actor"}  # of IQL's deviation
        for name, linear in layers.items():
            weight, bias = found[f"{name}.weight"][k], found[f"{name}.bias"][k]
            torch.testing.assert_close(weight, linear.weight.T, rtol=0, atol=1e-10, msg=name)
            torch.testing.assert_close(bias, linear.bias[None], rtol=0, atol=1e-10, msg=name)
        if algorithm is IQL:
            deviation = found["parameters/actor.log_std"][k, 0]
            assert deviation.abs().min() > 1e-4  # it has moved from zero
            torch.testing.assert_close(deviation, reference.log_std, rtol=0, atol=1e-10)


@pytest.mark.parametrize("algorithm", [BCQ, TD3_BC, IQL])
def test_a_row_trains_alike_alone_and_stacked_and_cut_weights_stay_zero(
    narrow, transitions, algorithm
):
    parameters = stack(algorithm, narrow, SEEDS)
    masks = random_masks(parameters, 0.2)
    together = learnt(algorithm, parameters, masks, transitions, SEEDS, 11)
    for k, seed in enumerate(SEEDS):
        own = {name: value[k : k + 1] for name, value in parameters.items()}
        masked = {name: mask[k : k + 1] for name, mask in masks.items()}
        alone = learnt(algorithm, own, masked, transitions, [seed], 11)
        for name, value in alone.items():
            row = together[name][k : k + 1] if value.dim() else together[name]
            torch.testing.assert_close(row, value, rtol=0, atol=1e-10)
    for name, value in together.items():
        if (mask := masks.get(name.rpartition("/")[2])) is not None and value.dim():
            assert not value[~mask].any()
    moved = [
        (together[f"parameters/{n}"] != parameters[n])[mask].any() for n, mask in masks.items()
    ]
    assert sum(map(bool, moved)) > len(moved) / 2


def test_td3_bcs_actor_moves_at_every_second_update_alone(narrow, transitions):
    learner = Learner(stack(TD3_BC, narrow, [0]), {}, TD3_BC, STEPS)
    critic = "dense/parameters/critic.l1.weight"
    watched = {"dense/parameters/actor.l1.weight", critic, "dense/targets/critic.l4.bias"}
    for update, batch, noise in batches(TD3_BC, transitions, [0], 4):
        before = {name: value.clone() for name, value in learner.state().items()}
        losses = learner.update(batch, noise, update)
        moved = {n for n in watched if not torch.equal(before[n], learner.state()[n])}
        assert moved == (watched if update % 2 else {critic})
        assert bool(losses["actor"].any()) == bool(update % 2)
    assert [learner.moved("actor", n) for n in range(5)] == [0, 0, 1, 1, 2]


def test_parameters_may_lie_in_memory_in_any_order(narrow, transitions):
    """A fused optimiser reads memory in order, not by strides: 2e-3 after one update."""
    parameters = stack(BCQ, narrow, SEEDS)
    transposed = {name: value.mT.contiguous().mT for name, value in parameters.items()}
    masks = random_masks(parameters, 0.1)
    ends = [learnt(BCQ, each, masks, transitions, SEEDS, 3) for each in (parameters, transposed)]
    for name, value in ends[0].items():
        torch.testing.assert_close(ends[1][name], value, rtol=0, atol=1e-12)


def test_training_only_the_vae_gives_the_vae_of_a_bcq_run(narrow, transitions):
    parameters = stack(BCQ, narrow, [5])
    full, cloned = (learnt(each, parameters, {}, transitions, [5], 15) for each in (BCQ, BC))
    for name, value in parameters.items():
        expected = full[f"parameters/{name}"] if name.startswith("vae.") else value
        torch.testing.assert_close(cloned[f"parameters/{name}"], expected, rtol=0, atol=1e-12)


def test_initialisation_has_the_bounds_of_torch_linear_and_ignores_its_neighbours(narrow):
    alone, beside = Bcq.initialise(narrow, *HOPPER, [8]), Bcq.initialise(narrow, *HOPPER, [3, 8])
    for layer, (inputs, _) in Bcq.layer_shapes(narrow, *HOPPER).items():
        for kind in ("weight", "bias"):
            value = alone[f"{layer}.{kind}"]
            assert torch.equal(value[0], beside[f"{layer}.{kind}"][1])
            assert value.abs().max() <= inputs**-0.5
    large = Bcq.initialise(dataclasses.replace(narrow, vae=400), *HOPPER, [0])["vae.e2.weight"]
    linear = torch.nn.Linear(400, 400).weight
    assert large.std().item() == pytest.approx(linear.std().item(), rel=0.01)


def test_a_cosine_schedule_is_pytorchs():
    steps = dataclasses.replace(STEPS, schedule="cosine")
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=STEPS.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=37)
    for update in range(37):
        assert steps.rate(update, 37) == pytest.approx(schedule.get_last_lr()[0], abs=1e-12)
        optimiser.step()
        schedule.step()
    assert StepSettings(20, 1e-3, 0.005).rate(36, 37) == 1e-3
