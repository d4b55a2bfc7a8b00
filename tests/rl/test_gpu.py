"""On a GPU: the captured graph trains as the plain calls do, and resumes; the whole job runs."""

import pytest
import torch
from stacks import IQL, TD3_BC

from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.training.learner import Learner, StepSettings, update_stepper

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("name", ["BCQ", "TD3+BC", "IQL"])
def test_replaying_the_captured_graph_equals_calling_the_update(
    narrow, bcq_settings, transitions, name
):
    algorithm = {"BCQ": bcq_settings, "TD3+BC": TD3_BC, "IQL": IQL}[name]
    gpu, seeds = torch.device("cuda"), [0, 1, 2]
    steps = StepSettings(batch=20, learning_rate=1e-3, tau=0.005)
    data = DeviceData(transitions, gpu, torch.float32)

    def learner_and_draws():
        fresh = type(algorithm).initialise(narrow, 11, 3, seeds)
        parameters = {name: value.to(gpu) for name, value in fresh.items()}
        masks = {
            name: torch.rand(value.shape, generator=torch.Generator().manual_seed(1)).to(gpu) > 0.5
            for name, value in parameters.items()
            if name.endswith(".weight")
        }
        draws = Draws(seeds, data, 20, algorithm)
        return Learner(parameters, masks, algorithm, steps), draws

    called, draws = learner_and_draws()
    for update in range(60):
        index, noise = draws.at(update)
        called.update(data.batch(index), noise, update)
    replayed, draws = learner_and_draws()
    replay = update_stepper(replayed, data, draws, "float32")
    for update in range(60):
        replay(update)
    for name, value in called.state().items():
        torch.testing.assert_close(replayed.state()[name], value, rtol=1e-4, atol=1e-5)
