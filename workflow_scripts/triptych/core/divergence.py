"""What is wrong with a training that has diverged, and what its job then says.

A look at losses or weights makes a GPU wait, so trainings look now and then, and always before a
state is saved: what went bad in between is found before it can replace a good state.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from triptych.core.errors import InputError

EXPLODED = 1e8
"""A mean loss so many times its first mean has diverged, finite as it still is.

High, since a false alarm costs more than a late one. A critic's squared error may grow by the
square of its horizon (10,000 at a discount of 0.99), and by as much again where values are
overestimated; a loss that really explodes passes any bound soon.
"""


class DivergedError(InputError):
    """A loss or a weight is no longer a finite number, or the loss has exploded."""


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether no number is NaN or infinite; waits for the device once."""
    found = [tensor.detach().isfinite().all() for tensor in tensors]
    return not found or bool(torch.stack(found).all())


def exploded(mean: float, first: float) -> bool:
    """Whether a mean of losses is more than EXPLODED times the first one; both are positive."""
    return mean > EXPLODED * first > 0


def diverged(what: str, saved: str | None, checkpoint: Path, advice: str) -> DivergedError:
    """The error of a job: what happened, what is kept, what to do.

    what:   "the loss is not finite at step 7 (learning rate 0.1)"
    saved:  what the last good state is of, "step 5"; None where none was saved
    checkpoint: the file that holds it
    advice: "Lower x in the config."
    """
    kept = (
        f"the last good state, of {saved}, is kept in {checkpoint}"
        if saved
        else "it had saved nothing yet"
    )
    return DivergedError(
        f"{what}; {kept}. {advice} With other settings the training starts afresh; with these it "
        "goes on from what is kept, and diverges again."
    )
