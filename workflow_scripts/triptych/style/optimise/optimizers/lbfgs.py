"""L-BFGS without line search, as torch.optim.LBFGS, for many images side by side."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from triptych.style.optimise.choices import Choices
from triptych.style.optimise.row_optimizer import ROWS_SECOND, RowOptimizer

PLACE = 1
LABEL = "L-BFGS"
COLOUR = "#0072b2"
# PyTorch's defaults. A history of 100 takes ten times the memory and, at AlexNet's speed, a third
# of the time.
AUTHORS = {"learning_rate": 1.0, "history": 100}
TUNED = {"learning_rate": 1.0, "history": 10, "reach": 1.0}

SMALLEST_CURVATURE = 1e-10
"""A pair with y·s at most this is not remembered: torch.optim.LBFGS's constant."""

RISE = 10.0
"""With a finite reach, a step that multiplies the loss by more than RISE is replaced by TAKEN_BACK
of itself. L-BFGS without line search lives on steps that rise a little."""
TAKEN_BACK = 0.1


def optimizer(rows: Tensor, choices: Choices) -> RowOptimizer:
    return BatchedLbfgs(rows, choices.learning_rate, choices.history, choices.reach)


def memory_images(choices: Choices) -> int:
    """Memory of an image while it is optimised, in images."""
    return 2 * choices.history + 8


@dataclass(eq=False)
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

    learning_rate: float = 1.0
    history: int = 10
    reach: float = math.inf
    iteration: int = 0
    pairs: int = 0
    """Pairs remembered so far, at most `history`."""
    newest: int = -1
    """Slot of the rings that was written last."""
    ring_moves: Tensor = field(init=False, metadata=ROWS_SECOND)
    """s of each pair, [history, B, n]."""
    ring_changes: Tensor = field(init=False, metadata=ROWS_SECOND)
    """y of each pair, [history, B, n]."""
    ring_inverses: Tensor = field(init=False, metadata=ROWS_SECOND)
    """1 / y·s of each pair, [history, B]; zero where the slot is empty."""
    diagonal: Tensor = field(init=False)
    """y·s / y·y, the initial Hessian's inverse, [B]."""
    gradients: Tensor = field(init=False)
    moves: Tensor = field(init=False)
    losses: Tensor = field(init=False)
    before: Tensor = field(init=False)
    """Where the rows moved from, [B, n]; [B, 0] without a reach."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, count = self.rows, len(self.rows)
        self.ring_moves = rows.new_zeros(self.history, *rows.shape)
        self.ring_changes = rows.new_zeros(self.history, *rows.shape)
        self.ring_inverses = rows.new_zeros(self.history, count)
        self.diagonal = rows.new_ones(count)
        self.gradients = torch.zeros_like(rows)
        self.moves = torch.zeros_like(rows)
        self.losses = rows.new_zeros(count)
        self.before = rows.clone() if math.isfinite(self.reach) else rows[:, :0]

    @torch.no_grad()
    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every active row, given its loss [B] and gradient [B, n] where it stands."""
        bounded = math.isfinite(self.reach)
        self.active &= (gradients != 0).any(1)
        risen = torch.zeros_like(self.active)
        if self.iteration == 0:
            directions = -gradients
            length = (1 / gradients.abs().sum(1)).clamp_max(1) * self.learning_rate
        else:
            self.active &= (self.moves != 0).any(1)
            if bounded:
                risen = losses > RISE * self.losses
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
            moves[risen] = TAKEN_BACK * self.moves[risen]
            self.rows[risen] = self.before[risen]
            gradients = torch.where(risen[:, None], self.gradients, gradients)
            losses = torch.where(risen, self.losses, losses)
        if bounded:
            self.before.copy_(self.rows)
        self.rows.add_(moves)
        self.moves = moves
        self.gradients.copy_(gradients)
        self.losses.copy_(losses)
        self.iteration += 1

    def _remember(self, gradients: Tensor, remembered: Tensor) -> None:
        """Put the pair of the last move into the rings, for those of the rows `remembered` where
        it curves upwards."""
        change = gradients - self.gradients
        curvature = _dot(change, self.moves)
        curved = remembered & (curvature > SMALLEST_CURVATURE)
        self.diagonal = torch.where(curved, curvature / _dot(change, change), self.diagonal)
        slot = (self.newest + 1) % self.history
        remembering = curved.tolist()  # one wait for the device an iteration
        if not any(remembering):
            return
        rings = (self.ring_moves, self.ring_changes, self.ring_inverses)
        pair = (self.moves, change, 1 / curvature)
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
        self.newest = slot
        self.pairs = min(self.pairs + 1, self.history)

    def _directions(self, gradients: Tensor) -> Tensor:
        """Minus the approximate inverse Hessians times the gradients, [B, n]."""
        newest_first = [(self.newest - back) % self.history for back in range(self.pairs)]
        direction = -gradients
        weights = {}
        for slot in newest_first:
            weight = _dot(self.ring_moves[slot], direction) * self.ring_inverses[slot]
            direction.addcmul_(self.ring_changes[slot], weight[:, None], value=-1)
            weights[slot] = weight
        direction *= self.diagonal[:, None]
        for slot in reversed(newest_first):
            weight = _dot(self.ring_changes[slot], direction) * self.ring_inverses[slot]
            direction.addcmul_(self.ring_moves[slot], (weights[slot] - weight)[:, None])
        return direction


def _dot(left: Tensor, right: Tensor) -> Tensor:
    """Inner products of two tensors [B, n], row by row, [B]."""
    return (left * right).sum(1)  # twice as fast as vecdot, and closer than bmm
