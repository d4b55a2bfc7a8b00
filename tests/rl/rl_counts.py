"""The offline-RL study's steps, counted on shapes: what its costs are compared with."""

import gymnasium
import torch
from counting import counted, shapes_only

from triptych.core.cost import Work
from triptych.rl.algorithms.registry import Algorithm, Widths
from triptych.rl.learner import Batch, Learner, StepSettings
from triptych.rl.networks import Parameters, initialise
from triptych.rl.tasks import task_named


def update_counted(
    algorithm: Algorithm, widths: Widths, task: str, batch: int, masked: bool
) -> Work:
    """One update of one network: losses, gradients, Adam, targets; the mean of a period's."""
    observation, action = sizes_of(task)
    with shapes_only():
        networks = parameters(algorithm, widths, task)
        masks = {name: value != 0 for name, value in networks.items() if "weight" in name}
        steps = StepSettings(batch, 1e-3, 5e-3)
        learner = Learner(networks, masks if masked else {}, algorithm, steps)
        states, actions, numbers = (
            torch.empty(1, batch, *shape) for shape in ((observation,), (action,), ())
        )
        data = Batch(states, actions, numbers, states, numbers)
        size = action * (2 if algorithm.noise_of == "latent" else 1)
        noise = {n: torch.empty(1, batch * k, size) for n, k in algorithm.noise().items()}
        found = Work()
        for number in range(algorithm.period()):
            found += counted(lambda number=number: learner.update(data, noise, number))
        return found * (1 / algorithm.period())


def acting_counted(
    algorithm: Algorithm, widths: Widths, task: str, episodes: int, candidates: int
) -> Work:
    """One step of all of a policy's episodes."""
    observation, action = sizes_of(task)
    with shapes_only(), torch.no_grad():
        networks, acting = parameters(algorithm, widths, task), algorithm.acting(candidates)
        state = torch.empty(1, episodes, observation)
        latent = torch.empty(1, episodes, acting.draws, 2 * action)
        return counted(lambda: acting.act(networks, state, latent))


def sizes_of(task: str) -> tuple[int, int]:
    """Numbers of an observation and of an action, as gymnasium has them."""
    environment = gymnasium.make(task_named(task).environment)
    seen, done = environment.observation_space.shape, environment.action_space.shape
    assert seen and done
    return seen[0], done[0]


def parameters(algorithm: Algorithm, widths: Widths, task: str) -> Parameters:
    """One network's, without values where that is so around."""
    made = initialise(widths, *sizes_of(task), [0], type(algorithm))
    return {name: torch.empty(value.shape) for name, value in made.items()}
