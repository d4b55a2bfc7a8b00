"""Adam and SGD over rows, each image a row of its own, in the manner of `BatchedLbfgs`."""

from collections.abc import Callable

import torch
from torch import Tensor

from triptych.style.optimise.lbfgs import BatchedLbfgs, RowOptimizer
from triptych.style.optimise.presets import Choices


class RowAdam(RowOptimizer):
    """torch.optim.Adam with its default betas and epsilon."""

    def __init__(self, rows: Tensor, learning_rate: float) -> None:
        super().__init__(rows)
        self._learning_rate = learning_rate
        self._first = torch.zeros_like(rows)
        self._second = torch.zeros_like(rows)
        self._steps = 0

    @torch.no_grad()
    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every row, given its gradient where it stands: [B, n]."""
        self._steps += 1
        self._first.lerp_(gradients, 1 - 0.9)
        self._second.mul_(0.999).addcmul_(gradients, gradients, value=1 - 0.999)
        unbiased = 1 - 0.999**self._steps
        scale = (self._second / unbiased).sqrt_().add_(1e-8)
        rate = self._learning_rate / (1 - 0.9**self._steps)
        self.rows.addcdiv_(self._first, scale, value=-rate)


class RowSgd(RowOptimizer):
    """torch.optim.SGD with momentum; or each row's gradient at a root mean square of one."""

    def __init__(
        self, rows: Tensor, learning_rate: float, momentum: float, normalised: bool = False
    ) -> None:
        super().__init__(rows)
        self._learning_rate, self._momentum, self._normalised = learning_rate, momentum, normalised
        self._velocity = torch.zeros_like(rows)

    @torch.no_grad()
    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every row, given its gradient where it stands: [B, n]."""
        if self._normalised:
            size = gradients.square().mean(1, keepdim=True).sqrt()
            gradients = gradients / torch.where(size > 0, size, torch.ones_like(size))
        self._velocity.mul_(self._momentum).add_(gradients)
        self.rows.sub_(self._velocity, alpha=self._learning_rate)


ROW_OPTIMIZERS: dict[str, Callable[[Tensor, Choices], RowOptimizer]] = {
    "adam": lambda rows, choices: RowAdam(rows, choices.learning_rate),
    "sgd": lambda rows, choices: RowSgd(
        rows, choices.learning_rate, choices.momentum, choices.normalised_gradient
    ),
    # Without tolerances: a loop that calls torch's `step` again and again, as the notebook's, goes
    # on after one is met, and their values suppose a scale that the losses don't have.
    "lbfgs": lambda rows, choices: BatchedLbfgs(
        rows,
        learning_rate=choices.learning_rate,
        history=choices.history,
        reach=choices.reach,
        tolerance_gradient=0.0,
        tolerance_change=0.0,
    ),
}
"""Each changes `rows` [B, n] in place, as the choices say."""


def row_optimizer(choices: Choices, rows: Tensor) -> RowOptimizer:
    """The optimiser that the choices name."""
    return ROW_OPTIMIZERS[choices.optimizer](rows, choices)
