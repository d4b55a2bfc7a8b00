"""The stacked update against the reference's, one module at a time, and against itself."""

import dataclasses

import pytest
import torch

from benchmarks.rl.plain import PlainBCQ
from triptych.rl.algorithms.bc import Bc
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.training.learner import Learner, StepSettings

CPU = torch.device("cpu")
HOPPER = (11, 3)
STEPS = StepSettings(batch=20, learning_rate=1e-3, tau=0.005)


def stack(widths, seeds, dtype):
    return {name: value.to(dtype) for name, value in Bcq.initialise(widths, *HOPPER, seeds).items()}


def random_masks(parameters, sparsity=0.9):
    generator = torch.Generator().manual_seed(3)
    return {
        name: torch.rand(value.shape, generator=generator) > sparsity
        for name, value in parameters.items()
        if name.endswith(".weight")
    }


def draws_for(seeds, data, settings):
    return Draws(seeds, data, STEPS.batch, settings)


def run(parameters, masks, transitions, settings, seeds, updates, dtype):
    data = DeviceData(transitions, CPU, dtype)
    draws = draws_for(seeds, data, settings)
    learner = Learner(parameters, masks, settings, STEPS)
    for update in range(updates):
        index, noise = draws.at(update)
        learner.update(data.batch(index), noise)
    return learner


@pytest.mark.parametrize("masked", [False, True])
def test_parameters_may_lie_in_memory_in_any_order(narrow, bcq_settings, transitions, masked):
    """A fused optimiser reads memory in order, not by strides: 2e-3 after one update."""
    parameters = stack(narrow, [4, 9], torch.float64)
    transposed = {name: value.mT.contiguous().mT for name, value in parameters.items()}
    assert not transposed["vae.e1.weight"].is_contiguous()
    masks = random_masks(parameters) if masked else {}
    ends = [
        run(each, masks, transitions, bcq_settings, [4, 9], 3, torch.float64).state()
        for each in (parameters, transposed)
    ]
    for name, value in ends[0].items():
        torch.testing.assert_close(ends[1][name], value, rtol=0, atol=1e-12)


def test_stacked_updates_equal_the_reference_update_of_each_network(
    narrow, bcq_settings, transitions
):
    seeds = [4, 9, 11]
    parameters = stack(narrow, seeds, torch.float64)
    learner = run(parameters, {}, transitions, bcq_settings, seeds, 25, torch.float64)
    data = DeviceData(transitions, CPU, torch.float64)
    draws = draws_for(seeds, data, bcq_settings)
    for k in range(len(seeds)):
        plain = PlainBCQ(*HOPPER, narrow, bcq_settings, STEPS)
        plain.load(parameters, k)
        for update in range(25):
            index, noise = draws.at(update)
            batch = data.batch(index)
            one = {f.name: getattr(batch, f.name)[k] for f in dataclasses.fields(batch)}
            row_noise = {name: each[k] for name, each in noise.items()}
            plain.update(dataclasses.replace(batch, **one), row_noise)
        modules = {"actor": plain.actor, "critic": plain.critic, "vae": plain.vae}
        for name, value in learner.parameters.items():
            network, rest = name.split(".", 1)
            expected = dict(modules[network].named_parameters())[rest]
            ours = value[k].T if name.endswith("weight") else value[k].reshape(-1)
            torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)
        for name, value in learner.targets.items():
            network, rest = name.split(".", 1)
            module = plain.actor_target if network == "actor" else plain.critic_target
            ours = value[k].T if name.endswith("weight") else value[k].reshape(-1)
            expected = dict(module.named_parameters())[rest]
            torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)


def test_training_only_the_vae_gives_the_vae_of_a_bcq_run(narrow, bcq_settings, transitions):
    parameters = stack(narrow, [5], torch.float64)
    full = run(parameters, {}, transitions, bcq_settings, [5], 15, torch.float64)
    bc = Bc(**vars(bcq_settings))
    cloned = run(parameters, {}, transitions, bc, [5], 15, torch.float64)
    for name, value in cloned.parameters.items():
        expected = full.parameters[name] if name.startswith("vae.") else parameters[name]
        torch.testing.assert_close(value, expected, rtol=0, atol=1e-12)
    assert cloned.targets == {}


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
    steps = StepSettings(batch=20, learning_rate=2e-3, tau=0.005, schedule="cosine")
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([weight], lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=37)
    for update in range(37):
        assert steps.rate(update, 37) == pytest.approx(schedule.get_last_lr()[0], abs=1e-12)
        optimiser.step()
        schedule.step()
    assert StepSettings(20, 1e-3, 0.005).rate(36, 37) == 1e-3
