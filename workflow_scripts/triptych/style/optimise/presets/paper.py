"""Choices of the text of Shen and Wang (section IV-A).

Where it is silent: those of Gatys et al. 2016, whom it follows, or our own; each is marked.
"""

from typing import Any

from triptych.style.data.architectures import FIRST_OF_STAGES

PLACE = 1


def choices(architecture: str) -> dict[str, Any]:
    """The text's choices."""
    alexnet = architecture.endswith("alexnet")
    return {
        "pooling": "average",  # IV-A 3
        "normalised": True,  # IV-A 3
        # "At stage 4" (IV-A 6); the second convolution of it, after the ReLU, is Gatys'.
        "content_layer": "relu4" if alexnet else "relu4_2",
        "style_layers": FIRST_OF_STAGES["alexnet" if alexnet else "vgg"],  # IV-A 6, 1-5
        "scaling": "equation",  # Eq. 1 and 3
        "content_weight": 1.0,
        "style_weight": 1e6,  # ours: the text says only "much higher" than content's (IV-A 7)
        "layer_weights": (1 / 5,) * 5,  # Gatys' w_l; the text leaves them open
        "rates": "tuned",  # not in the text
    }
