"""On a GPU: the captured graph trains as the plain calls do."""

import pytest
import torch
from stacks import BCQ, IQL, STEPS, TD3_BC, random_masks, stack

from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.training.learner import Learner, update_stepper

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("algorithm", [BCQ, TD3_BC, IQL])
def test_replaying_the_captured_graph_equals_calling_the_update(narrow, transitions, algorithm):
    gpu, seeds = torch.device("cuda"), [0, 1, 2]
    parameters = stack(algorithm, narrow, seeds, torch.float32)
    masks = {name: mask.to(gpu) for name, mask in random_masks(parameters, 0.5).items()}
    parameters = {name: value.to(gpu) for name, value in parameters.items()}
    called, replayed = (Learner(parameters, masks, algorithm, STEPS) for _ in range(2))
    data = DeviceData(transitions, gpu, torch.float32)
    draws = Draws(seeds, data, STEPS.batch, algorithm)
    replay = update_stepper(replayed, data, draws, "float32")
    for update in range(60):
        index, noise = draws.at(update)
        called.update(data.batch(index), noise, update)
        replay(update)
    for name, value in called.state().items():
        torch.testing.assert_close(replayed.state()[name], value, rtol=1e-4, atol=1e-5)
