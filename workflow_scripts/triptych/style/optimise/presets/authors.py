"""Choices of the notebook of Shen and Wang, as its cells and saved outputs show.

It differs from the text in the content layer, pooling, weight normalisation and the scale of the
losses.
"""

from typing import Any

PLACE = 2
LAYERS: dict[str, tuple[str, tuple[str, ...]]] = {
    # The notebook counts convolutions: content 15, style 1, 3, 5, 9, 13 and 16, before their ReLU.
    "vgg19": ("conv5_3", ("conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1", "conv5_4")),
    # Content 5, style 1 to 4.
    "alexnet": ("conv5", ("conv1", "conv2", "conv3", "conv4")),
    # By analogy: the last convolution but one, and the first of each stage with the last.
    "vgg16": ("conv5_2", ("conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1", "conv5_3")),
    "narrow_alexnet": ("conv5", ("conv1", "conv2", "conv3", "conv4")),
}
"""Content layer and style layers, by architecture."""


def choices(architecture: str) -> dict[str, Any]:
    """The notebook's choices."""
    content, style = LAYERS[architecture]
    return {
        "pooling": "max",
        "normalised": False,
        "content_layer": content,
        "style_layers": style,
        "scaling": "mean",
        "content_weight": 1.0,
        "style_weight": 1e6,
        "layer_weights": (1.0,) * len(style),
        "rates": "authors",
        "clamp": "closure",
    }
