"""What a computation asks of a processor, counted on shapes alone: what costs are compared with.

Nothing is computed and no memory is taken: `shapes_only` gives tensors without values, and each
operation that would run is counted where PyTorch would start a kernel, forward and backward.
Products and convolutions count by PyTorch's own formulas (torch.utils.flop_counter); of all other
kernels count the bytes that they read and write.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from triptych.core.cost import Work

Model = TypeVar("Model", bound=nn.Module)

OTHER_PRODUCTS: dict[str, Callable[..., float]] = {
    # What audio/models/products.py calls on AMD's processors.
    "mkldnn::_linear_pointwise": lambda inputs, weight, *_, **__: 2 * inputs.numel() * len(weight),
}
"""Operations that PyTorch has no formula for."""
NO_KERNEL = ("prim", "profiler")
COPIES_NOTHING = ("aten::_unsafe_view", "aten::_reshape_alias")
"""Views that don't call themselves so."""


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
