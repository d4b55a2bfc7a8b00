"""Minari data sets, recorded here with random actions."""

import gymnasium
import numpy as np

NAME = "triptych/ant-v0"
STEPS = 40


def record(episodes=4, environment="Ant-v5", name=NAME, bounds=None, wrapper=None, **options):
    """Record episodes and keep them; what was seen, done and paid, and how it ended, of each.

    bounds: of the actions that are recorded, if others than the environment's. wrapper: around it.
    """
    # Its own collector needs jax; what that would hand on is this.
    from minari import create_dataset_from_buffers
    from minari.data_collector import EpisodeBuffer

    simulation = gymnasium.make(environment, max_episode_steps=STEPS, **options)
    if bounds:
        simulation = gymnasium.wrappers.RescaleAction(simulation, *bounds)
    simulation = wrapper(simulation) if wrapper else simulation
    recorded, buffers = [], []
    simulation.action_space.seed(0)
    for episode in range(episodes):
        seen, done, paid, ends = [simulation.reset(seed=episode)[0]], [], [], []
        while not ends or not any(ends[-1]):
            done.append(simulation.action_space.sample())
            after, reward, *ended, _ = simulation.step(done[-1])
            seen.append(after)
            paid.append(reward)
            ends.append(ended)
        terminations, truncations = (list(each) for each in zip(*ends, strict=True))
        recorded.append((np.array(seen), np.array(done), np.array(paid), terminations[-1]))
        buffers.append(
            EpisodeBuffer(episode, None, None, seen, done, paid, terminations, truncations, {})
        )
    told = {"author": "tests", "author_email": "tests@localhost", "algorithm_name": "random"}
    told |= {"code_permalink": "tests", "description": "random actions"}
    create_dataset_from_buffers(name, buffers, env=simulation, **told)
    return recorded
