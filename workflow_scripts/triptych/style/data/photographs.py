"""Photographs for the style study."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from PIL import Image


@dataclass(frozen=True)
class EmbeddedPhotograph:
    """A photograph inside a package that is installed anyway (licences: docs/backbone.md)."""

    package: str
    path: str
    grey: bool = False


EMBEDDED = {
    "astronaut": EmbeddedPhotograph("skimage", "data/astronaut.png"),
    "chelsea": EmbeddedPhotograph("skimage", "data/chelsea.png"),
    "coffee": EmbeddedPhotograph("skimage", "data/coffee.png"),
    "rocket": EmbeddedPhotograph("skimage", "data/rocket.jpg"),
    "hubble_deep_field": EmbeddedPhotograph("skimage", "data/hubble_deep_field.jpg"),
    "immunohistochemistry": EmbeddedPhotograph("skimage", "data/ihc.png"),
    "retina": EmbeddedPhotograph("skimage", "data/retina.jpg"),
    "china": EmbeddedPhotograph("sklearn", "datasets/images/china.jpg"),
    "flower": EmbeddedPhotograph("sklearn", "datasets/images/flower.jpg"),
    "brick": EmbeddedPhotograph("skimage", "data/brick.png", grey=True),
    "camera": EmbeddedPhotograph("skimage", "data/camera.png", grey=True),
    "coins": EmbeddedPhotograph("skimage", "data/coins.png", grey=True),
    "grass": EmbeddedPhotograph("skimage", "data/grass.png", grey=True),
    "gravel": EmbeddedPhotograph("skimage", "data/gravel.png", grey=True),
}


def embedded_photographs(grey: bool = False) -> dict[str, Image.Image]:
    """RGB photographs from the scikit-image and scikit-learn wheels, by name; no network.

    The nine in colour, and with `grey` also the five that are grey (as RGB of equal channels).
    Neither package is imported. Raises FileNotFoundError when one of them isn't installed.
    """
    return {
        name: Image.open(_folder(photograph.package) / photograph.path).convert("RGB")
        for name, photograph in EMBEDDED.items()
        if grey or not photograph.grey
    }


def _folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise FileNotFoundError(
            f"the bundled photographs need the package {package}, which isn't installed here"
        )
    return Path(found.origin).parent
