"""Base of Version 1's optimisers: many independent problems at once, a row each."""

from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

ROWS_SECOND = {"rows": 1}
"""Metadata of a field whose tensor is [..., B, ...] with the rows as its second dimension."""


@dataclass(eq=False)
class RowOptimizer:
    """Moves `rows` [B, n] in place, each by its own loss and gradient, once a `step`.

    A subclass is a dataclass whose fields are all that a checkpoint needs. Rows are a tensor's
    first dimension, unless the field's metadata say otherwise (ROWS_SECOND).
    """

    rows: Tensor
    active: Tensor = field(init=False)
    """[B], the rows that still move."""

    def __post_init__(self) -> None:
        self.active = torch.ones(len(self.rows), dtype=torch.bool, device=self.rows.device)

    def step(self, losses: Tensor, gradients: Tensor) -> None:
        """Move every active row, given its loss [B] and gradient [B, n] where it stands."""
        raise NotImplementedError

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only (indices [B']); `self.rows` becomes a new tensor."""
        for declared in fields(self):
            value = getattr(self, declared.name)
            if isinstance(value, Tensor):
                setattr(
                    self, declared.name, value.index_select(declared.metadata.get("rows", 0), rows)
                )

    def state(self) -> dict[str, Any]:
        """State from which `restore` goes on to the bit; tensors are not copied."""
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`. Raises KeyError for one that lacks a field."""
        for declared in fields(self):
            setattr(self, declared.name, state[declared.name])
