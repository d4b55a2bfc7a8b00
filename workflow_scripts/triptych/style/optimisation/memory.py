"""How much memory an image takes while it is optimised."""

from triptych.style.backbones.architectures import (
    ORIENTED,
    ORIENTED_FILTERS,
    Architecture,
    Pooling,
)
from triptych.style.optimisation.presets import Choices


def bytes_an_image(architecture: Architecture, choices: Choices, height: int, width: int) -> int:
    """About how much memory one image takes while it is optimised, in bytes (4 a number).

    Each convolution's and ReLU's output is kept for the backward pass, where the widest layer
    stands a few more times; then the content target, the optimiser and its history.
    """
    own = [name for name in choices.layers if name not in ORIENTED]
    deepest = max((architecture.layer_names.index(name) for name in own), default=-1)
    wanted = architecture.layer_names[: deepest + 1]
    # Of the oriented filters: the responses, both signs of them, and what of these is above zero.
    kept = sum(
        5 * ORIENTED_FILTERS * (height >> level) * (width >> level)
        for level, name in enumerate(ORIENTED)
        if name in choices.layers
    )
    widest = 0
    rows, columns = height, width
    for layer in architecture.layers:
        if isinstance(layer, Pooling):
            rows, columns = rows // layer.stride, columns // layer.stride
            continue
        if layer.name not in wanted:
            break
        rows, columns = rows // layer.stride, columns // layer.stride
        numbers = layer.outputs * rows * columns
        kept, widest = kept + 2 * numbers, max(widest, numbers)
    history = 2 * choices.history if choices.optimizer == "lbfgs" else 2
    return 4 * (kept + 4 * widest + (history + 8) * 3 * height * width)
