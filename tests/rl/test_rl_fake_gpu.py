"""BCQ's losses and policies on a GPU without values: no tensor is left on the CPU."""

import pytest
import torch
from fake_gpu import CUDA, fake_gpu

from triptych.core.device import PRECISIONS, precision_context
from triptych.rl.algorithms.bcq import Bcq, actor_loss, critic_loss, critic_target, vae_loss
from triptych.rl.networks.sampling import DeviceData
from triptych.rl.networks.stacked import apply_masks

OBSERVATION, ACTION, BATCH = 11, 3, 20


@pytest.fixture(autouse=True)
def gpu():
    with fake_gpu():
        yield


@pytest.fixture
def parameters(gpu, narrow, bcq_settings):
    made = Bcq.initialise(narrow, OBSERVATION, ACTION, [0])
    return {name: torch.empty(value.shape).to(CUDA) for name, value in made.items()}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_losses_stay_on_the_gpu(parameters, transitions, bcq_settings, precision):
    masks = {name: torch.ones(value.shape, dtype=torch.bool) for name, value in parameters.items()}
    masked = apply_masks(parameters, {name: mask.to(CUDA) for name, mask in masks.items()})
    data = DeviceData(transitions, CUDA, torch.float32)
    batch = data.batch(torch.zeros(1, BATCH, dtype=torch.long, device=CUDA))
    samples = bcq_settings.target_samples
    one, many = (torch.empty(1, n, 2 * ACTION, device=CUDA) for n in (BATCH, BATCH * samples))
    noise = {"encoder": one, "actor": one}
    with precision_context(CUDA, precision):
        target = critic_target(masked, masked, batch, many, bcq_settings)
        losses = (
            vae_loss(masked, masked, batch, noise),
            critic_loss(masked, batch, target),
            actor_loss(masked, masked, batch, noise, bcq_settings),
        )
    assert {loss.device.type for loss in losses} == {"cuda"}
