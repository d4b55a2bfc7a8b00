"""What a computation asks of a GPU, counted on shapes alone, and how long a GPU takes for that.

Nothing is computed and no memory is taken: `shapes_only` gives tensors without values, and each
operation that would run is counted where PyTorch would start a kernel, forward and backward.
Products and convolutions count by PyTorch's own formulas (torch.utils.flop_counter); of all other
kernels count the bytes that they read and write.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

Model = TypeVar("Model", bound=nn.Module)

PRODUCTS = 0.5
"""Share of a GPU's peak that products and convolutions reach: assumed."""
BANDWIDTH = 0.7
"""Share of a GPU's memory bandwidth that the other kernels reach: assumed."""
LAUNCH_SECONDS = 6e-6
"""Between two kernels that Python starts: assumed."""

OTHER_PRODUCTS: dict[str, Callable[..., float]] = {
    # What audio/models/products.py calls on AMD's processors.
    "mkldnn::_linear_pointwise": lambda inputs, weight, *_, **__: 2 * inputs.numel() * len(weight),
}
"""Operations that PyTorch has no formula for."""
NO_KERNEL = ("prim", "profiler")
COPIES_NOTHING = ("aten::_unsafe_view", "aten::_reshape_alias")
"""Views that don't call themselves so."""


@dataclass(frozen=True)
class Work:
    """What is to be done: `operations` in products (a multiplication and an addition are two),
    `traffic` in bytes of all other kernels, `kernels` to be started."""

    operations: float = 0.0
    traffic: float = 0.0
    kernels: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.operations + other.operations,
            self.traffic + other.traffic,
            self.kernels + other.kernels,
        )

    def __mul__(self, times: float) -> "Work":
        """One after the other."""
        return Work(self.operations * times, self.traffic * times, self.kernels * times)

    def together(self, count: float) -> "Work":
        """`count` of them at once: as much more to do in as many kernels."""
        return Work(self.operations * count, self.traffic * count, self.kernels)


@dataclass(frozen=True)
class Gpu:
    """A GPU by its maker's figures: operations a second by precision (dense), bytes a second.

    measured_on: the device that has been measured, as its driver calls it; "" for none
    factors: by step and precision, its measured seconds over those that `seconds` computes
    """

    name: str
    peak: Mapping[str, float]
    bandwidth: float
    measured_on: str = ""
    factors: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def seconds(self, work: Work, precision: str) -> float:
        """How long it takes, at the shares of its peak that are assumed above."""
        products = work.operations / (PRODUCTS * self.peak[precision])
        others = work.traffic / (BANDWIDTH * self.bandwidth)
        return max(products + others, work.kernels * LAUNCH_SECONDS)


def _gpu(name: str, float32: float, tf32: float, half: float, bandwidth: float) -> Gpu:
    peak = {"float32": float32, "tf32": tf32, "bf16": half, "fp16": half}
    return Gpu(name, {kind: value * 1e12 for kind, value in peak.items()}, bandwidth * 1e9)


GPUS = {
    "t4": _gpu("T4", 8.1, 8.1, 65.0, 320),
    "a40": _gpu("A40", 37.4, 74.8, 149.7, 696),
    "a100": _gpu("A100 80 GB", 19.5, 156.0, 312.0, 2039),
    "h100": _gpu("H100 SXM", 66.9, 494.7, 989.4, 3350),
    "h200": _gpu("H200", 66.9, 494.7, 989.4, 4800),
}
"""NVIDIA's data sheets, without sparsity."""


def shapes_only() -> AbstractContextManager[Any]:
    """Within it, new tensors have a shape and no values, and models take no memory."""
    return FakeTensorMode()


def shaped(build: Callable[[], Model]) -> Model:
    """The model that `build` makes, without values: within `shapes_only`.

    Needed where a model looks at its first weights, which shapes alone don't allow.
    """
    with torch.device("meta"):
        model = build()
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            empty = torch.empty(parameter.shape, dtype=parameter.dtype)
            setattr(module, name, nn.Parameter(empty, parameter.requires_grad))
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, torch.empty(buffer.shape, dtype=buffer.dtype))
    return model


def counted(call: Callable[[], object]) -> Work:
    """The work of everything that PyTorch runs within `call`."""
    with _Counter() as counter:
        call()
    return Work(counter.operations, counter.traffic, counter.kernels)


class _Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operations = self.traffic = self.kernels = 0.0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = func._schema.name
        if func.namespace in NO_KERNEL or func.is_view or name in COPIES_NOTHING:
            return result
        formula: Any = OTHER_PRODUCTS.get(name) or flop_registry.get(func._overloadpacket)
        if formula is None and func.namespace != "aten":
            raise NotImplementedError(f"no formula for the operations of {name}")
        written = [each for each in tree_leaves(result) if isinstance(each, Tensor)]
        if formula is not None:
            self.operations += formula(*args, **kwargs, out_val=result)
        elif any(each.numel() for each in written) or not written:
            read = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
            # What gives nothing back, such as a fused optimiser, writes what it was given.
            self.traffic += sum(map(_bytes, read)) + sum(map(_bytes, written or read))
        self.kernels += 1
        return result


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
