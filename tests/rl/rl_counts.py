"""The offline-RL study's steps, counted on shapes: what its costs are compared with."""

import gymnasium
import torch
from counting import counted, shapes_only

from triptych.core.cost import Work
from triptych.rl.bcq import Batch, BcqSettings, Learner, Noise, StepSettings
from triptych.rl.evaluation import act_bcq
from triptych.rl.networks import MAX_ACTION, Parameters, Widths, decode, layer_shapes
from triptych.rl.tasks import task_named


def update_counted(
    widths: Widths, task: str, samples: int, batch: int, masked: bool, only_vae: bool = False
) -> Work:
    """One update of one network: losses, gradients, Adam, targets."""
    observation, action = sizes_of(task)
    with shapes_only():
        networks = parameters(widths, (observation, action))
        masks = {name: value != 0 for name, value in networks.items() if "weight" in name}
        learner = Learner(
            networks,
            masks if masked else {},
            BcqSettings(discount=0.99, phi=0.05, lmbda=0.75, target_samples=samples),
            StepSettings(batch, 1e-3, 5e-3),
            only_vae,
        )
        states, actions, numbers = (
            torch.empty(1, batch, *shape) for shape in ((observation,), (action,), ())
        )
        data = Batch(states, actions, numbers, states, numbers)
        latents = (torch.empty(1, batch * n, 2 * action) for n in (1, samples, 1))
        encoder, target, actor = latents
        noise = Noise(encoder=encoder, target=target, actor=actor)
        return counted(lambda: learner.update(data, noise))


def acting_counted(widths: Widths, task: str, episodes: int, candidates: int) -> dict[str, Work]:
    """One step of all of a policy's episodes, by algorithm."""
    observation, action = sizes_of(task)
    with shapes_only(), torch.no_grad():
        networks = parameters(widths, (observation, action))
        state = torch.empty(1, episodes, observation)
        latent = torch.empty(1, episodes, candidates, 2 * action)
        return {
            "BCQ": counted(lambda: act_bcq(networks, state, latent, 0.05)),
            "BC": counted(lambda: decode(networks, state, latent[:, :, 0], MAX_ACTION)),
        }


def sizes_of(task: str) -> tuple[int, int]:
    """Numbers of an observation and of an action, as gymnasium has them."""
    environment = gymnasium.make(task_named(task).environment)
    seen, done = environment.observation_space.shape, environment.action_space.shape
    assert seen and done
    return seen[0], done[0]


def parameters(widths: Widths, sizes: tuple[int, int]) -> Parameters:
    """One network's, without values where that is so around."""
    made: Parameters = {}
    for layer, (inputs, outputs) in layer_shapes(widths, *sizes).items():
        made[f"{layer}.weight"] = torch.empty(1, inputs, outputs)
        made[f"{layer}.bias"] = torch.empty(1, 1, outputs)
    return made
