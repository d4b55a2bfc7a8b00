"""Memory that an image takes while it is optimised, in bytes."""

from triptych.style.data.architectures import Architecture
from triptych.style.optimise.choices import Choices


def images_at_once(
    architecture: Architecture, choices: Choices, height: int, width: int, memory_bytes: float
) -> int:
    """Number of images that fit into the memory while they are optimised; at least one."""
    network = network_bytes(architecture, choices, height, width)
    image = network + state_bytes(choices, height, width)
    return max(1, int(min(memory_bytes / image, 2**20)))


def network_bytes(architecture: Architecture, choices: Choices, height: int, width: int) -> int:
    """Memory of an image's features.

    Each convolution's and ReLU's output is kept for the backward pass, where the widest layer
    stands a few more times.
    """
    rows, columns = (architecture.lengths(choices.layers, side) for side in (height, width))
    layers = zip(architecture.convolutions.values(), rows, columns, strict=False)
    numbers = [layer.outputs * height * width for layer, height, width in layers]
    return 4 * (2 * sum(numbers) + 4 * max(numbers))


def state_bytes(choices: Choices, height: int, width: int) -> int:
    """Memory of the optimiser, its history and the images that it moves."""
    history = 2 * choices.history if choices.optimizer == "lbfgs" else 2
    return 4 * (history + 8) * 3 * height * width
