"""Made-up policies for the tests."""

import itertools

import numpy as np

from triptych.demo.collection import LAYERS, Expert


def random_expert(observation: int, action: int, gain: float = 1.0, seed: int = 0) -> Expert:
    """Layers of 8 and 7 units, normal weights times `gain`."""
    generator = np.random.default_rng(seed)
    sizes = [observation, 8, 7, action]
    weights, biases = {}, {}
    for layer, (n, m) in zip(LAYERS, itertools.pairwise(sizes), strict=True):
        weights[layer] = (gain * generator.normal(size=(m, n))).astype(np.float32)
        biases[layer] = (gain * generator.normal(size=m)).astype(np.float32)
    return Expert(weights, biases)
