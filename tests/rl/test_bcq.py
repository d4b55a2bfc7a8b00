"""The stacked update against the reference's, one module at a time, and against itself."""

import dataclasses

import pytest
import torch

from benchmarks.rl.plain import PlainBCQ
from triptych.rl.algorithms.bcq import actor_loss, critic_loss, critic_target, vae_loss
from triptych.rl.algorithms.networks import decode, encode, initialise
from triptych.rl.algorithms.registry import Bc, Widths, layer_shapes
from triptych.rl.algorithms.sampling import DeviceData, Draws
from triptych.rl.training.learner import Learner, StepSettings

CPU = torch.device("cpu")
HOPPER = (11, 3)
STEPS = StepSettings(batch=20, learning_rate=1e-3, tau=0.005)


def stack(widths, seeds, dtype):
    return {name: value.to(dtype) for name, value in initialise(widths, *HOPPER, seeds).items()}


def random_masks(parameters, sparsity=0.9):
    generator = torch.Generator().manual_seed(3)
    return {
        name: torch.rand(value.shape, generator=generator) > sparsity
        for name, value in parameters.items()
        if name.endswith(".weight")
    }


def draws_for(seeds, data, settings, dtype):
    return Draws(seeds, len(data), HOPPER[1], STEPS.batch, settings, CPU, dtype)


def run(parameters, masks, transitions, settings, seeds, updates, dtype):
    data = DeviceData(transitions, CPU, dtype)
    draws = draws_for(seeds, data, settings, dtype)
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
    draws = draws_for(seeds, data, bcq_settings, torch.float64)
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


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_a_row_trains_alike_alone_and_stacked(narrow, bcq_settings, transitions, dtype, tolerance):
    seeds = [0, 1, 2, 0]
    parameters = stack(narrow, seeds, dtype)
    masks = random_masks(parameters)
    together = run(parameters, masks, transitions, bcq_settings, seeds, 50, dtype)
    for k, seed in enumerate(seeds):
        alone = run(
            {name: value[k : k + 1] for name, value in parameters.items()},
            {name: mask[k : k + 1] for name, mask in masks.items()},
            transitions,
            bcq_settings,
            [seed],
            50,
            dtype,
        )
        for name, value in alone.parameters.items():
            difference = (together.parameters[name][k] - value[0]).abs().max()
            assert difference <= tolerance, name


def test_pruned_weights_stay_exactly_zero_after_every_update(narrow, bcq_settings, transitions):
    seeds = [0, 1]
    parameters = stack(narrow, seeds, torch.float32)
    masks = random_masks(parameters)
    data = DeviceData(transitions, CPU, torch.float32)
    draws = draws_for(seeds, data, bcq_settings, torch.float32)
    learner = Learner(parameters, masks, bcq_settings, STEPS)
    for update in range(20):
        index, noise = draws.at(update)
        learner.update(data.batch(index), noise)
        for name, mask in masks.items():
            assert not learner.parameters[name][~mask].any(), (name, update)
            if name in learner.targets:
                assert not learner.targets[name][~mask].any(), (name, update)
    moved = [
        (learner.parameters[name] != parameters[name])[mask].any() for name, mask in masks.items()
    ]
    assert sum(map(bool, moved)) > len(moved) / 2


def test_training_only_the_vae_gives_the_vae_of_a_bcq_run(narrow, bcq_settings, transitions):
    parameters = stack(narrow, [5], torch.float64)
    full = run(parameters, {}, transitions, bcq_settings, [5], 15, torch.float64)
    bc = Bc(**vars(bcq_settings))
    cloned = run(parameters, {}, transitions, bc, [5], 15, torch.float64)
    for name, value in cloned.parameters.items():
        expected = full.parameters[name] if name.startswith("vae.") else parameters[name]
        torch.testing.assert_close(value, expected, rtol=0, atol=1e-12)
    assert cloned.targets == {}


def test_kl_term_equals_that_of_torch_distributions(narrow, bcq_settings, transitions):
    parameters = stack(narrow, [0], torch.float64)
    data = DeviceData(transitions, CPU, torch.float64)
    batch = data.batch(torch.arange(30)[None])
    mean, std = encode(parameters, batch.observations, batch.actions)
    normal = torch.distributions.Normal
    divergence = torch.distributions.kl_divergence(
        normal(mean, std), normal(torch.zeros_like(mean), torch.ones_like(std))
    ).mean()
    noise = torch.randn(1, 30, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    recon = decode(parameters, batch.observations, mean + std * noise, 1.0)
    expected = torch.nn.functional.mse_loss(recon, batch.actions) + 0.5 * divergence
    torch.testing.assert_close(vae_loss(parameters, batch, noise), expected[None])


@pytest.mark.parametrize("network", ["vae", "critic", "actor"])
def test_loss_gradients_agree_with_finite_differences(network, bcq_settings, transitions):
    widths = Widths((4, 3), (4, 3), 4)
    parameters = stack(widths, [1, 2], torch.float64)
    data = DeviceData(transitions, CPU, torch.float64)
    draws = draws_for([1, 2], data, bcq_settings, torch.float64)
    index, noise = draws.at(0)
    batch = data.batch(index)
    target = critic_target(parameters, parameters, batch, noise["target"], bcq_settings)
    losses = {
        "vae": lambda p: vae_loss(p, batch, noise["encoder"]),
        "critic": lambda p: critic_loss(p, batch, target),
        "actor": lambda p: actor_loss(p, batch, noise["actor"], bcq_settings),
    }
    names = [name for name in parameters if name.startswith(network)]
    for name in names:

        def loss(value, name=name):
            return losses[network]({**parameters, name: value})

        live = parameters[name].clone().requires_grad_()
        # fast_mode projects on random directions; ReLU kinks are of measure zero
        assert torch.autograd.gradcheck(loss, (live,), eps=1e-7, atol=1e-5, fast_mode=True), name


def test_critic_target_takes_the_best_of_the_sampled_actions(narrow, bcq_settings, transitions):
    settings = dataclasses.replace(bcq_settings, target_samples=7, lmbda=1.0, discount=1.0)
    parameters = stack(narrow, [0], torch.float64)
    data = DeviceData(transitions, CPU, torch.float64)
    index, noise = draws_for([0], data, settings, torch.float64).at(0)
    batch = data.batch(index)
    together = critic_target(parameters, parameters, batch, noise["target"], settings)
    single = dataclasses.replace(settings, target_samples=1)
    by_sample = noise["target"].unflatten(1, (-1, 7))
    each = torch.stack(
        [critic_target(parameters, parameters, batch, by_sample[:, :, i], single) for i in range(7)]
    )
    torch.testing.assert_close(together, each.max(0).values)


def test_initialisation_has_the_bounds_of_torch_linear_and_ignores_its_neighbours(narrow):
    alone, beside = initialise(narrow, *HOPPER, [8]), initialise(narrow, *HOPPER, [3, 8])
    for layer, (inputs, _) in layer_shapes(narrow, *HOPPER).items():
        for kind in ("weight", "bias"):
            value = alone[f"{layer}.{kind}"]
            assert torch.equal(value[0], beside[f"{layer}.{kind}"][1])
            assert value.abs().max() <= inputs**-0.5
    large = initialise(dataclasses.replace(narrow, vae=400), *HOPPER, [0])["vae.e2.weight"]
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


def test_the_rate_of_an_update_is_adams(bcq_settings):
    """A first step of Adam is as long as the rate, whatever the gradient."""
    parameters = initialise(Widths((8, 8), (8, 8), 8), 11, 3, [0])
    learner = Learner(parameters, {}, Bc(**vars(bcq_settings)), STEPS)
    learner.set_rate(5e-3)
    learner.optimisers["vae"].param_groups[0]["params"][0].grad = None
    for name, value in learner.parameters.items():
        value.grad = torch.ones_like(value) if name.startswith("vae") else None
    learner.optimisers["vae"].step()
    moved = parameters["vae.d3.weight"] - learner.parameters["vae.d3.weight"].detach()
    torch.testing.assert_close(moved, torch.full_like(moved, 5e-3), rtol=1e-4, atol=1e-7)
