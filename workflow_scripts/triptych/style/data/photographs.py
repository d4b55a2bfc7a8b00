"""Photographs for the style study."""

import importlib.util
from pathlib import Path

from PIL import Image

PHOTOGRAPHS = {
    "astronaut": "skimage/data/astronaut.png",
    "chelsea": "skimage/data/chelsea.png",
    "coffee": "skimage/data/coffee.png",
    "rocket": "skimage/data/rocket.jpg",
    "hubble_deep_field": "skimage/data/hubble_deep_field.jpg",
    "immunohistochemistry": "skimage/data/ihc.png",
    "retina": "skimage/data/retina.jpg",
    "china": "sklearn/datasets/images/china.jpg",
    "flower": "sklearn/datasets/images/flower.jpg",
}
"""Photographs inside packages that are installed anyway (licences: docs/dependencies.md)."""


def embedded_photographs() -> dict[str, Image.Image]:
    """RGB photographs from the scikit-image and scikit-learn wheels, by name; no network.

    Neither package is imported. Raises FileNotFoundError when one of them isn't installed.
    """
    return {
        name: Image.open(_inside(*path.split("/", 1))).convert("RGB")
        for name, path in PHOTOGRAPHS.items()
    }


def _inside(package: str, path: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"the bundled photographs need the package {package}, which isn't installed here"
        )
    return Path(spec.origin).parent / path
