"""Normalised observations by NumPy's statistics, and networks folded for raw observations."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from triptych.rl.algorithms.bc import act_bc
from triptych.rl.algorithms.bcq import Bcq, act_bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.observations import folded, scaling
from triptych.rl.networks.sampling import DeviceData
from triptych.rl.networks.stacked import decode, encode, q_values

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


def test_a_folded_network_does_with_raw_observations_what_it_did_with_scaled_ones(uneven):
    parameters = initialise_wide([0, 1])
    given = torch.from_numpy(uneven.observations)
    seen = scaling(KINDS, given)
    states = given[torch.randint(len(given), (2, 50))]
    latent, actions = torch.randn(2, 50, 6), torch.rand(2, 50, 3)
    outside = folded(parameters, seen, Bcq.first_layers())
    for result, expected in (
        (decode(outside, states, latent), decode(parameters, seen(states), latent)),
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


def initialise_wide(seeds):
    return Bcq.initialise(Widths((12, 10), (14, 9), 16), 11, 3, seeds)
