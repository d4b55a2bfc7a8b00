"""Normalised observations by NumPy's statistics; stored policies act as the trained ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from triptych.rl.acting.exporting import acting_arrays, read_policy
from triptych.rl.acting.inference import ActingSettings
from triptych.rl.acting.latency import kernels_of
from triptych.rl.algorithms.bc import Bc, act_bc
from triptych.rl.algorithms.bcq import Bcq, act_bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.sampling import DeviceData, scaling
from triptych.rl.pruning.storage import SCALE, SHIFT
from triptych.rl.training.train import write_policies

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


@pytest.mark.parametrize("algorithm", [Bc, Bcq])
def test_a_stored_policy_acts_as_the_trained_one_where_inputs_are_large_and_hardly_change(
    tmp_path, algorithm
):
    """Of inputs with a mean of 1e5 and deviations of 0, 1e-3 and 1, in torch, numpy and C."""
    generator = np.random.default_rng(0)
    given = 1e5 + generator.normal(size=(500, 3)) * [0, 1e-3, 1]
    given = torch.from_numpy(given.astype(np.float32))
    parameters = algorithm.initialise(Widths((12, 10), (14, 9), 16), 3, 2, [0, 1])
    transform = scaling(KINDS, given)
    assert transform.scale[1, 0] == 0 and (transform.scale[1, 2] > 0.9).all()
    states = given[:40].expand(2, -1, -1)
    latents = torch.from_numpy(generator.normal(size=(2, 40, 7, 4)).astype(np.float32)).clamp(-1, 1)
    settings = ActingSettings(candidates=7)
    if algorithm is Bcq:
        expected = act_bcq(parameters, transform(states), latents, settings.phi)[1]
    else:
        expected = act_bc(parameters, transform(states), latents[:, :, :1])[1]
    assert expected.std(0).max() > 0.01
    arrays = {name: value.numpy() for name, value in parameters.items()}
    arrays |= {SHIFT: transform.shift.numpy(), SCALE: transform.scale.numpy()}
    rows, about = [{"seed": 0}, {"seed": 1}], {"algorithm": algorithm.name}
    write_policies(tmp_path / "p.safetensors", arrays, rows, about)
    policy = read_policy(tmp_path / "p.safetensors", {"seed": 1})
    acting = acting_arrays(policy.arrays, algorithm.name)
    given, drawn = states[1].numpy(), latents[1].numpy()
    for name, kernel in kernels_of(acting, settings).items():
        if algorithm is Bcq:
            found = kernel.prepared("BCQ policy", given, drawn)()[0]
        else:
            found = kernel.prepared("BC policy", given, drawn[:, 0])()[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5, err_msg=name)
