"""Choices that looked best when tried (docs/style-presets.md)."""

from typing import Any

from triptych.style.data.architectures import FIRST_OF_STAGES

PLACE = 3


def choices(architecture: str) -> dict[str, Any]:
    """The choices that looked best."""
    alexnet = architecture.endswith("alexnet")
    stages = FIRST_OF_STAGES["alexnet" if alexnet else "vgg"]
    return {
        "pooling": "max",
        "normalised": False,  # relative losses don't depend on a layer's scale
        # The registry's VGG-16 went on to learn edges: its deeper stages keep no faces.
        "content_layer": "conv3" if alexnet else "relu2_2",
        # Before the ReLU, as the authors': what a filter answers in the negative is style, too.
        "style_layers": tuple(name.replace("relu", "conv") for name in stages),
        "scaling": "relative",
        "content_weight": 0.006,
        "style_weight": 2.0,
        # In the authors' losses the second stage outweighs all others, too: it holds the strokes.
        "layer_weights": (0.04, 0.85, 0.1, 0.007, 0.003),
        # AlexNet's first layer, whose stride is 4, doesn't see speckle.
        "total_variation_weight": 10.0 if alexnet else 0.0,
        "optimizer": "adam",
        "rates": "tuned",
        "by_pixels": True,
        "clamp": "closure",  # Adam keeps no differences that it would spoil
        "aspect": "kept",
    }
