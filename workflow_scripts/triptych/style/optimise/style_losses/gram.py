"""Gram matrices over positions: the paper's style loss (Eq. 2 to 4)."""

from torch import Tensor

from triptych.style.losses import Scaling, position_gram, style_term

LABEL = "Gram matrices"


def statistics(features: Tensor) -> Tensor:
    """Gram matrices over the number of positions, [N, C, C]."""
    return position_gram(features)


def distance(statistics: Tensor, targets: Tensor, scaling: Scaling) -> Tensor:
    """Squared distance of Gram matrices, [N]."""
    return style_term(statistics, targets, scaling)
