"""Normalised observations by NumPy's statistics, and networks folded for raw observations."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from triptych.rl.acting.stored_policy import Policies
from triptych.rl.algorithms.bcq import act_bc, act_bcq
from triptych.rl.algorithms.networks import (
    MAX_ACTION,
    decode,
    encode,
    initialise,
    q_values,
)
from triptych.rl.algorithms.observations import SCALE, SHIFT, folded, scaling
from triptych.rl.algorithms.sampling import DeviceData

CPU = torch.device("cpu")
KINDS = ["raw", "normalised"]


@pytest.fixture
def uneven(transitions):
    """Data whose inputs differ in size as a walker's do."""
    sizes = np.logspace(-1, 1, 11, dtype=np.float32)
    return replace(transitions, observations=transitions.observations * sizes + 1)


def test_normalised_observations_have_the_data_sets_mean_and_deviation(uneven):
    data = DeviceData(uneven, CPU, torch.float64).seen_as(KINDS)
    index = torch.arange(len(data)).expand(2, -1)
    raw, normalised = data.batch(index).observations.numpy()
    assert np.array_equal(raw, uneven.observations.astype(np.float64))
    given = uneven.observations.astype(np.float64)
    expected = (given - given.mean(0)) / (given.std(0) + 1e-3)
    np.testing.assert_allclose(normalised, expected, rtol=1e-9, atol=1e-9)


def test_next_observations_are_scaled_by_the_same_numbers(uneven):
    data = DeviceData(uneven, CPU, torch.float64).seen_as(KINDS)
    index = torch.arange(7).expand(2, -1)
    seen = data.batch(index).next_observations[1].numpy()
    given, nexts = uneven.observations.astype(np.float64), uneven.next_observations[:7]
    np.testing.assert_allclose(seen, (nexts - given.mean(0)) / (given.std(0) + 1e-3), atol=1e-9)


def test_raw_rows_beside_normalised_ones_are_the_bits_of_raw_rows_alone(uneven):
    plain, mixed = (DeviceData(uneven, CPU, torch.float32) for _ in range(2))
    index = torch.randint(len(plain), (2, 20))
    beside = mixed.seen_as(KINDS).batch(index).observations[0]
    assert torch.equal(beside, plain.seen_as(["raw", "raw"]).batch(index).observations[0])


def test_a_folded_network_does_with_raw_observations_what_it_did_with_scaled_ones(uneven):
    parameters = initialise_wide([0, 1])
    given = torch.from_numpy(uneven.observations)
    seen = scaling(KINDS, given)
    states = given[torch.randint(len(given), (2, 50))]
    latent, actions = torch.randn(2, 50, 6), torch.rand(2, 50, 3)
    outside = folded(parameters, seen)
    for result, expected in (
        (decode(outside, states, latent, MAX_ACTION), decode(parameters, seen(states), latent, 1)),
        (
            act_bc(outside, states, latent[:, :, None]),
            act_bc(parameters, seen(states), latent[:, :, None]),
        ),
        (
            act_bcq(outside, states[:, :9], latent[:, :9, None].repeat(1, 1, 4, 1), 0.05),
            act_bcq(parameters, seen(states)[:, :9], latent[:, :9, None].repeat(1, 1, 4, 1), 0.05),
        ),
        (encode(outside, states, actions)[0], encode(parameters, seen(states), actions)[0]),
        (q_values(outside, states, actions, 2), q_values(parameters, seen(states), actions, 2)),
    ):
        torch.testing.assert_close(result, expected, rtol=0, atol=1e-5)


def test_a_stored_policy_takes_raw_observations_and_gives_equal_actions(uneven):
    """In float64 but for the stored weights: to 1e-6."""
    parameters = initialise_wide([0, 1])
    given = torch.from_numpy(uneven.observations)
    seen = scaling(KINDS, given)
    arrays = {name: value.numpy() for name, value in parameters.items()}
    arrays |= {SHIFT: seen.shift.numpy(), SCALE: seen.scale.numpy()}
    row = Policies(arrays, [{}, {}], {}).row(1)
    assert SHIFT not in row
    states, latent = given[:30].double(), torch.randn(30, 6, dtype=torch.float64)

    def act(states, first, bias, rest):
        hidden = (torch.cat((states, latent), 1) @ first + bias).relu()
        hidden = (hidden @ rest["vae.d2.weight"] + rest["vae.d2.bias"]).relu()
        return (hidden @ rest["vae.d3.weight"] + rest["vae.d3.bias"]).tanh()

    own = {name: value[1].double() for name, value in parameters.items()}
    inside = act(seen(given[None, :30].repeat(2, 1, 1))[1].double(), *first_of(own), own)
    weight, bias = (torch.from_numpy(row[f"vae.d1.{kind}"]).double() for kind in ("weight", "bias"))
    assert (act(states, weight.T, bias, own) - inside).abs().max() < 1e-6


def test_an_input_that_never_changes_is_not_blown_up(uneven):
    uneven.observations[:, 4] = 0.5
    data = DeviceData(uneven, CPU, torch.float64).seen_as(["normalised"])
    assert data.batch(torch.arange(9)[None]).observations[0, :, 4].abs().max() < 1e-9


def test_a_weight_that_is_zero_stays_zero(uneven):
    parameters = initialise_wide([0, 1])
    parameters["vae.d1.weight"][:, ::2] = 0
    changed = folded(parameters, scaling(KINDS, torch.from_numpy(uneven.observations)))
    assert (changed["vae.d1.weight"][:, ::2] == 0).all()


def test_another_way_of_seeing_is_refused_by_name(uneven):
    with pytest.raises(ValueError, match="'scaled'; expected one of raw, normalised"):
        DeviceData(uneven, CPU, torch.float32).seen_as(["scaled"])


def first_of(own):
    return own["vae.d1.weight"], own["vae.d1.bias"]


def initialise_wide(seeds):
    from triptych.rl.algorithms.registry import Widths

    return initialise(Widths((12, 10), (14, 9), 16), 11, 3, seeds)
