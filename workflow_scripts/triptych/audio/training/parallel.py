"""One process or several that share each batch, one for each device (`launching` starts them).

Each computes the embeddings of its own pairs, all embeddings are gathered, and the gradients of the
weights are summed, so that a step equals one of a single process with the whole batch.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import Parameter

PATIENCE = timedelta(hours=3)
"""How long processes wait for the one that validates and writes."""


class Group(Protocol):
    """The processes that share a batch. Number `rank` of `size` computes on `device`."""

    rank: int
    size: int
    device: torch.device

    def gather(self, own: Tensor) -> Tensor:
        """[size * N, ...]: the rows [N, ...] of every process, in the order of their ranks."""

    def own_rows(self, gathered: Tensor) -> Tensor:
        """[N, ...]: this process' rows of what `gather` returned."""

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Give every process the sum of all processes' gradients."""

    def any(self, mine: bool) -> bool:
        """Whether it holds in any process."""


class Alone:
    """A process that shares its batches with no other."""

    rank, size = 0, 1

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def gather(self, own: Tensor) -> Tensor:
        """`own` itself."""
        return own

    def own_rows(self, gathered: Tensor) -> Tensor:
        """All of them."""
        return gathered

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Nothing to do."""
        pass

    def any(self, mine: bool) -> bool:
        """`mine`."""
        return mine


class Together:
    """One of several processes of torch's default process group."""

    def __init__(self, rank: int, size: int, device: torch.device) -> None:
        self.rank, self.size, self.device = rank, size, device
        # What processes ask each other goes by the CPU, so that no GPU has to be waited for.
        on_gpu = device.type == "cuda"
        self._words: Any = (
            torch.distributed.new_group(timeout=PATIENCE, backend="gloo") if on_gpu else None
        )

    def gather(self, own: Tensor) -> Tensor:
        """As `Group.gather`; without a gradient."""
        parts = [torch.empty_like(own) for _ in range(self.size)]
        torch.distributed.all_gather(parts, own.contiguous())
        return torch.cat(parts)

    def own_rows(self, gathered: Tensor) -> Tensor:
        """As `Group.own_rows`."""
        return gathered.chunk(self.size)[self.rank]

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """As `Group.sum_gradients`; a parameter without a gradient has none anywhere."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        sums = [torch.distributed.all_reduce(gradient, async_op=True) for gradient in gradients]
        for handle in sums:
            handle.wait()

    def any(self, mine: bool) -> bool:
        """As `Group.any`; waits for every process."""
        flag = torch.tensor(float(mine))
        torch.distributed.all_reduce(flag, torch.distributed.ReduceOp.MAX, group=self._words)
        return bool(flag)


@contextmanager
def fails_together(group: Group) -> Iterator[None]:
    """Where memory runs out in one process, raise torch.OutOfMemoryError in all of them.

    Otherwise the others would wait for that one in the next exchange.
    """
    reason = None
    try:
        yield
    except torch.OutOfMemoryError as error:
        reason = str(error)
    if group.any(reason is not None):
        raise torch.OutOfMemoryError(reason or "another process ran out of memory")
