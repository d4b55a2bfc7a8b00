"""Optimisers of many independent problems at once, a row each: L-BFGS, Adam and SGD."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from triptych.style.optimise.presets import Choices

SMALLEST_CURVATURE = 1e-10
"""A pair with y·s at most this is not remembered: torch.optim.LBFGS's constant."""

RISE = 10.0
"""A step after which the loss is more than this times what it was is taken back to TAKEN_BACK of
itself, where a reach is given. L-BFGS without line search lives on steps that rise a little."""
TAKEN_BACK = 0.1


class RowOptimizer:
    """Moves `rows` [B, n] in place, each by its own loss and gradient, once a `step`.

    active: [B], the rows that still move
    """

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows
        self.active = torch.ones(len(rows), dtype=torch.bool, device=rows.device)

    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every active row, given its loss and gradient where it stands: [B], [B, n]."""
        raise NotImplementedError

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only (indices [B']); `self.rows` becomes a new tensor."""
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(self, name, value[rows])

    def state(self) -> dict[str, Any]:
        """All that `restore` needs to go on to the bit; tensors are not copied."""
        return dict(vars(self))

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        vars(self).update(state)


class BatchedLbfgs(RowOptimizer):
    """Minimises B functions of n variables side by side; row b sees nothing of the others.

    Each row does what `torch.optim.LBFGS` without line search does within one `step` (Nocedal's
    two loops, the first step 1/|g|₁ times the learning rate at most, then the learning rate), to
    rounding. One evaluation is one iteration: k calls of torch's `step` with max_iter=20 are 20·k
    calls of this one. Tolerances are zero: the notebook's loop goes on after one is met. A row
    where nothing moves is frozen for good.

    A finite `reach` departs from torch: no variable moves further in a step, and steps that RISE
    are taken back. Without it a row whose first pair curves downwards takes its gradient for a
    step, whatever the loss's scale: 6e8 of a pixel's range, on a normalised VGG-19.

    `rows` [B, n] is changed in place. Needs 2·history·n numbers a row besides, and n more
    with a reach.
    """

    def __init__(
        self,
        rows: Tensor,
        *,
        learning_rate: float = 1.0,
        history: int = 10,
        reach: float = math.inf,
    ) -> None:
        super().__init__(rows)
        self.learning_rate = learning_rate
        self.reach = reach
        count = len(rows)
        self._iteration = 0
        self._pairs = 0  # remembered so far, at most `history`
        self._newest = -1  # slot of the ring that was written last
        self._steps = rows.new_zeros(history, *rows.shape)  # s
        self._changes = rows.new_zeros(history, *rows.shape)  # y
        self._inverse = rows.new_zeros(history, count)  # 1 / y·s; zero: nothing is in the slot
        self._diagonal = rows.new_ones(count)  # y·s / y·y, the initial Hessian's inverse
        self._gradients = torch.zeros_like(rows)
        self._moves = torch.zeros_like(rows)
        self._losses = rows.new_zeros(count)
        self._before = rows.clone() if math.isfinite(reach) else rows[:, :0]

    @torch.no_grad()
    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every active row, given its loss and gradient where it stands: [B], [B, n]."""
        bounded = math.isfinite(self.reach)
        self.active &= (gradients != 0).any(1)
        risen = torch.zeros_like(self.active)
        if self._iteration == 0:
            directions = -gradients
            length = (1 / gradients.abs().sum(1)).clamp_max(1) * self.learning_rate
        else:
            self.active &= (self._moves != 0).any(1)
            if bounded:
                risen = losses > RISE * self._losses
            self._remember(gradients, ~risen)
            directions = self._directions(gradients)
            length = torch.full_like(losses, self.learning_rate)
        self.active &= risen | ~(_dot(gradients, directions) > 0)
        # A frozen row's direction may be infinite or no number, so it is chosen, not multiplied.
        moves = torch.where(self.active[:, None], directions.mul_(length[:, None]), 0)
        if bounded:
            moves *= (self.reach / moves.abs().amax(1)).clamp_max(1)[:, None]
        if risen.any():
            # Put back to where they moved from, to go a part of that way. Taking the move off would
            # miss that place where a clamp has cut it short.
            moves[risen] = TAKEN_BACK * self._moves[risen]
            self.rows[risen] = self._before[risen]
            gradients = torch.where(risen[:, None], self._gradients, gradients)
            losses = torch.where(risen, self._losses, losses)
        if bounded:
            self._before.copy_(self.rows)
        self.rows.add_(moves)
        self._moves = moves
        self._gradients.copy_(gradients)
        self._losses.copy_(losses)
        self._iteration += 1

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only (indices [B']); `self.rows` becomes a new tensor."""
        for name in ("rows", "_before", "_gradients", "_moves", "_losses", "_diagonal", "active"):
            setattr(self, name, getattr(self, name)[rows])
        for name in ("_steps", "_changes", "_inverse"):
            setattr(self, name, getattr(self, name)[:, rows])

    def _remember(self, gradients: Tensor, kept: Tensor) -> None:
        """Put the pair of the last move into the ring, for those of the rows `kept` where it curves
        upwards."""
        change = gradients - self._gradients
        curvature = _dot(change, self._moves)
        curved = kept & (curvature > SMALLEST_CURVATURE)
        self._diagonal = torch.where(curved, curvature / _dot(change, change), self._diagonal)
        history = len(self._steps)
        slot = (self._newest + 1) % history
        remembering = curved.tolist()  # one wait for the device an iteration
        if not any(remembering):
            return
        rings = (self._steps, self._changes, self._inverse)
        pair = (self._moves, change, 1 / curvature)
        if all(remembering):
            for ring, values in zip(rings, pair, strict=True):
                ring[slot] = values
        else:
            # The ring moves on for all rows. Those that skip this pair keep theirs: each pair one
            # slot further, so that the newest is in the new slot and a gap, if any, the oldest.
            skipping = (~curved).nonzero().flatten()
            for ring, values in zip(rings, pair, strict=True):
                older = ring[:, skipping].roll(1, 0)
                ring[slot] = values
                ring[:, skipping] = older
        self._newest = slot
        self._pairs = min(self._pairs + 1, history)

    def _directions(self, gradients: Tensor) -> Tensor:
        """Minus the approximate inverse Hessians times the gradients, [B, n]."""
        history = len(self._steps)
        newest_first = [(self._newest - back) % history for back in range(self._pairs)]
        direction = -gradients
        weights = {}
        for slot in newest_first:
            weight = _dot(self._steps[slot], direction) * self._inverse[slot]
            direction.addcmul_(self._changes[slot], weight[:, None], value=-1)
            weights[slot] = weight
        direction *= self._diagonal[:, None]
        for slot in reversed(newest_first):
            weight = weights[slot] - _dot(self._changes[slot], direction) * self._inverse[slot]
            direction.addcmul_(self._steps[slot], weight[:, None])
        return direction


def _dot(left: Tensor, right: Tensor) -> Tensor:
    """Row by row, [B]."""
    return (left * right).sum(1)  # twice as fast as vecdot, and closer than bmm


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
    "lbfgs": lambda rows, choices: BatchedLbfgs(
        rows,
        learning_rate=choices.learning_rate,
        history=choices.history,
        reach=choices.reach,
    ),
}
"""What makes the optimiser of that name, which changes `rows` [B, n] in place."""
