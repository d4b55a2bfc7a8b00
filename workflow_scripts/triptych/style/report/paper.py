"""The paper's values, and what its seconds were measured on."""

from triptych.core.config import read_yaml
from triptych.core.provenance import SOURCE

PAPER = read_yaml(SOURCE / "config/paper/style.yaml")["style"]
PAPER_ARCHITECTURES = {r: PAPER["backbones"][r]["architecture"] for r in ("alexnet", "vgg")}
PAPER_EVALUATIONS = PAPER["timing"]["evaluations"]
PAPER_WIDTH = PAPER["network"]["width"]
"""Channels of the network's first layer."""


def is_gpu(device: str) -> bool:
    """Whether a device's description names a GPU: those of processors end in their cores."""
    return not (device.endswith(" cores") or device.startswith("cpu"))
