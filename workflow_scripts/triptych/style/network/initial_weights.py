"""Initial weights of a transformation network: random, or those of a finished network."""

from dataclasses import replace
from pathlib import Path

import torch

from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.style.network.architecture import Architecture
from triptych.style.network.mixtures import styles_of
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import load_network

SHIPPED = "resources/style/networks/four_styles.safetensors"


def initial_network(architecture: Architecture, seed: int) -> TransformationNetwork:
    """Network with PyTorch's default initialisation; leaves the global random state alone."""
    with torch.random.fork_rng(devices=[]):
        seed = keyed_generator(torch.device("cpu"), "network", seed).initial_seed()
        torch.manual_seed(seed)
        return TransformationNetwork(architecture)


def finished_network(path: Path, architecture: Architecture) -> TransformationNetwork:
    """Network with the weights of a file's conditional network, to be trained on.

    Each style begins with the mean of the norms of the file's styles. Raises InputError for a file
    of one style, or of another architecture but for the number of styles.
    """
    stored_styles = styles_of(path)
    if not stored_styles:
        raise InputError(f"{path} is no network of several styles; expected one such as {SHIPPED}")
    mean_style, _ = load_network(path, "+".join(stored_styles))
    if replace(architecture, styles=1) != mean_style.architecture:
        raise InputError(
            f"{path} has {mean_style.architecture}, the configuration's style.network "
            f"{architecture}; make them agree, or begin with random weights "
            '(style.networks.initial_weights: "")'
        )
    network = TransformationNetwork(architecture)
    shapes = network.state_dict()
    weights = mean_style.state_dict()
    for name in mean_style.of_styles():
        weights[name] = torch.stack([weights[name]] * architecture.styles).view_as(shapes[name])
    network.load_state_dict(weights)
    return network
