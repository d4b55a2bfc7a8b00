"""TD3+BC and IQL, stacked, against their references one network at a time, and as BCQ is tried."""

import dataclasses

import pytest
import torch
from other_algorithms import BCQ, CORL_IQL, IQL, TD3_BC
from plain_algorithms import PlainIql, PlainTd3Bc

from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.training.learner import Learner, StepSettings

CPU, HOPPER = torch.device("cpu"), (11, 3)
STEPS = StepSettings(batch=20, learning_rate=1e-3, tau=0.005)
PLAIN = [(TD3_BC, PlainTd3Bc), (IQL, PlainIql), (CORL_IQL, PlainIql)]
SETTINGS = [BCQ, *(settings for settings, _ in PLAIN)]


def stack(algorithm, widths, seeds, dtype):
    fresh = type(algorithm).initialise(widths, *HOPPER, seeds)
    return {name: value.to(dtype) for name, value in fresh.items()}


def random_masks(parameters):
    generator = torch.Generator().manual_seed(3)
    return {
        name: torch.rand(value.shape, generator=generator) > 0.8
        for name, value in parameters.items()
        if name.endswith(".weight")
    }


def steps_of(algorithm, transitions, seeds, dtype, kinds, updates):
    """Batch and noise of each update, by its number."""
    data = DeviceData(transitions, CPU, dtype).seen_as(kinds)
    draws = Draws(seeds, data, STEPS.batch, algorithm)
    for update in range(updates):
        index, noise = draws.at(update)
        yield update, data.batch(index), noise


def run(algorithm, parameters, masks, transitions, seeds, updates, kinds=None, portion=0):
    learner = Learner(parameters, masks, algorithm, STEPS)
    learner.portion.size = portion or learner.portion.size
    dtype = parameters["actor.l1.weight"].dtype
    kinds = kinds or ["raw"] * len(seeds)
    for update, batch, noise in steps_of(algorithm, transitions, seeds, dtype, kinds, updates):
        learner.update(batch, noise, update)
    return learner


def assert_row_is(stacked, k, networks):
    for layers, network in networks.items():
        linears = [module for module in network if isinstance(module, torch.nn.Linear)]
        for layer, linear in zip(layers, linears, strict=True):
            for kind, expected in (("weight", linear.weight.T), ("bias", linear.bias[None])):
                found = stacked[f"{layer}.{kind}"][k]
                torch.testing.assert_close(found, expected, rtol=0, atol=1e-10, msg=layer)


@pytest.mark.parametrize(("algorithm", "plain"), PLAIN)
def test_stacked_updates_equal_the_references_of_each_network(
    narrow, transitions, algorithm, plain
):
    seeds, kinds = [4, 9, 11], ["raw", "normalised", "raw"]
    parameters = stack(algorithm, narrow, seeds, torch.float64)
    learner = run(algorithm, parameters, {}, transitions, seeds, 20, kinds)
    for k in range(len(seeds)):
        reference = plain(parameters, k, STEPS.learning_rate, algorithm)
        given = steps_of(algorithm, transitions, seeds, torch.float64, kinds, 20)
        for _, batch, noise in given:
            one = {f.name: getattr(batch, f.name)[k] for f in dataclasses.fields(batch)}
            drawn = {name: each[k] for name, each in noise.items()}
            reference.update(dataclasses.replace(batch, **one), drawn)
        assert sum(map(len, reference.networks)) == sum(
            name.endswith(".weight") for name in learner.parameters
        )
        assert_row_is(learner.parameters, k, reference.networks)
        assert_row_is(learner.targets, k, reference.targets)
        if plain is PlainIql:
            found = learner.parameters["actor.log_std"][k, 0]
            assert found.abs().min() > 1e-4  # it has moved from zero
            torch.testing.assert_close(found, reference.log_std, rtol=0, atol=1e-10)


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_a_row_trains_alike_alone_stacked_and_in_portions(narrow, transitions, algorithm):
    seeds = [0, 1, 0]
    parameters = stack(algorithm, narrow, seeds, torch.float64)
    masks = random_masks(parameters)
    together = run(algorithm, parameters, masks, transitions, seeds, 11)
    parts = run(algorithm, parameters, masks, transitions, seeds, 11, portion=2)
    for k, seed in enumerate(seeds):
        one = slice(k, k + 1)
        own = {name: value[one] for name, value in parameters.items()}
        masked = {name: mask[one] for name, mask in masks.items()}
        alone = run(algorithm, own, masked, transitions, [seed], 11).state()
        for name, value in alone.items():
            for stacked in (together, parts):
                row = stacked.state()[name][one] if value.dim() else stacked.state()[name]
                torch.testing.assert_close(row, value, rtol=0, atol=1e-10)


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_pruned_weights_stay_exactly_zero_in_networks_and_targets(narrow, transitions, algorithm):
    parameters = stack(algorithm, narrow, [0, 1], torch.float32)
    masks = random_masks(parameters)
    learner = run(algorithm, parameters, masks, transitions, [0, 1], 9)
    for name, mask in masks.items():
        assert not learner.parameters[name][~mask].any()
        assert name not in learner.targets or not learner.targets[name][~mask].any()
    moved = [(learner.parameters[n] != parameters[n])[mask].any() for n, mask in masks.items()]
    assert sum(map(bool, moved)) > len(moved) / 2


def test_td3_bcs_actor_moves_at_every_second_update_alone(narrow, transitions):
    learner = Learner(stack(TD3_BC, narrow, [0], torch.float32), {}, TD3_BC, STEPS)
    critic = "parameters/critic.l1.weight"
    watched = {"parameters/actor.l1.weight", critic, "targets/critic.l4.bias"}
    for update, batch, noise in steps_of(TD3_BC, transitions, [0], torch.float32, ["raw"], 6):
        before = {name: value.clone() for name, value in learner.state().items()}
        losses = learner.update(batch, noise, update)
        moved = {n for n in watched if not torch.equal(before[n], learner.state()[n])}
        assert moved == (watched if update % 2 else {critic})
        assert bool(losses["actor"].any()) == bool(update % 2)
    assert [learner.moved("actor", n) for n in range(5)] == [0, 0, 1, 1, 2]
    assert learner.moved("critic", 5) == 5
