"""Absolute error."""

from torch import Tensor
from torch.nn import functional

PLACE = 1
LABEL = "L1"
COLOUR = "#d55e00"


def differences(features: Tensor, targets: Tensor) -> Tensor:
    """Absolute differences, of the features' shape."""
    return functional.l1_loss(features, targets, reduction="none")
