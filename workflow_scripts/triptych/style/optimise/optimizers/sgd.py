"""SGD: torch.optim.SGD with momentum, or along each image's normalised gradient."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from triptych.style.optimise.choices import Choices
from triptych.style.optimise.row_optimizer import RowOptimizer

PLACE = 3
LABEL = "SGD"
COLOUR = "#009e73"
AUTHORS = {"learning_rate": 0.01, "momentum": 0.8}
TUNED = {"learning_rate": 0.01, "momentum": 0.9, "normalised_gradient": True}


def optimizer(rows: Tensor, choices: Choices) -> RowOptimizer:
    return RowSgd(rows, choices.learning_rate, choices.momentum, choices.normalised_gradient)


@dataclass(eq=False)
class RowSgd(RowOptimizer):
    """SGD with momentum; `normalised`: each row's gradient at a root mean square of one."""

    learning_rate: float
    momentum: float
    normalised: bool = False
    velocity: Tensor = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.velocity = torch.zeros_like(self.rows)

    @torch.no_grad()
    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every row, given its gradient where it stands: [B, n]."""
        if self.normalised:
            size = gradients.square().mean(1, keepdim=True).sqrt()
            gradients = gradients / torch.where(size > 0, size, torch.ones_like(size))
        self.velocity.mul_(self.momentum).add_(gradients)
        self.rows.sub_(self.velocity, alpha=self.learning_rate)
