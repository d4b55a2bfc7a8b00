"""Squared error: the paper's content loss, half the sum of squares (Eq. 1)."""

from torch import Tensor
from torch.nn import functional

PLACE = 4
LABEL = "MSE"
COLOUR = "#0072b2"
EQUATION_FACTOR = 0.5


def differences(features: Tensor, targets: Tensor) -> Tensor:
    """Squares of the differences, of the features' shape."""
    return functional.mse_loss(features, targets, reduction="none")
