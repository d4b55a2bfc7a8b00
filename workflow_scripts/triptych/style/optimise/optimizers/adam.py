"""Adam: torch.optim.Adam with its default betas and epsilon."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from triptych.style.optimise.choices import Choices
from triptych.style.optimise.row_optimizer import RowOptimizer

PLACE = 2
LABEL = "Adam"
COLOUR = "#d55e00"
AUTHORS = {"learning_rate": 1e-3}
# With 500 steps of 1e-3 Adam moves a pixel by half its range at most; a tuned step is of a size
# with the pixels' range, whatever the loss's.
TUNED = {"learning_rate": 0.03}


def optimizer(rows: Tensor, choices: Choices) -> RowOptimizer:
    return RowAdam(rows, choices.learning_rate)


@dataclass(eq=False)
class RowAdam(RowOptimizer):
    """Adam (Kingma and Ba 2015), a row by its own gradient."""

    learning_rate: float
    first: Tensor = field(init=False)
    """Running means of gradients, [B, n]."""
    second: Tensor = field(init=False)
    """Running means of their squares, [B, n]."""
    steps: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.first = torch.zeros_like(self.rows)
        self.second = torch.zeros_like(self.rows)

    @torch.no_grad()
    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every row, given its gradient where it stands: [B, n]."""
        self.steps += 1
        self.first.lerp_(gradients, 1 - 0.9)
        self.second.mul_(0.999).addcmul_(gradients, gradients, value=1 - 0.999)
        unbiased = 1 - 0.999**self.steps
        scale = (self.second / unbiased).sqrt_().add_(1e-8)
        rate = self.learning_rate / (1 - 0.9**self.steps)
        self.rows.addcdiv_(self.first, scale, value=-rate)
