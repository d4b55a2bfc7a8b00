"""Every product that the library's own code computes, again in each precision and in float64.

`recorded` watches PyTorch's functions while real code runs, and keeps what each product was given:
shapes, strides and numbers. `errors` computes one of them in a precision, forward and backward,
and compares with float64 on the same rounded numbers, so that what is left is the product's own.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from triptych.core.device import precision_context

CPU = torch.device("cpu")
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
Call = tuple[Callable[..., Tensor], tuple[Any, ...], dict[str, Any]]


class _Recorder(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[Any, Call] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in LENGTHS and torch.is_autocast_enabled("cpu"):  # the rest is float32 always
            given = [*args, *kwargs.values()]
            key = (
                name,
                *(
                    (each.shape, each.stride()) if isinstance(each, Tensor) else str(each)
                    for each in given
                ),
            )
            kept = tuple(
                each.detach().clone() if isinstance(each, Tensor) else each for each in args
            )
            named = {n: v.detach() if isinstance(v, Tensor) else v for n, v in kwargs.items()}
            self.calls.setdefault(key, (func, kept, named))
        return func(*args, **kwargs)


def recorded(run: Callable[[], object]) -> list[Call]:
    """The products of `run` in half precision, each shape and memory layout once."""
    with _Recorder() as recorder:
        run()
    return list(recorder.calls.values())


LENGTHS: dict[str, Callable[..., int]] = {
    "conv2d": lambda x, weight, *_: weight[0].numel(),
    "conv_transpose2d": lambda x, weight, *_: weight[:, 0].numel(),
    "linear": lambda x, weight, *_: weight.shape[1],
    "baddbmm": lambda bias, x, weight: x.shape[-1],
    "matmul": lambda x, other: x.shape[-1],
    "__matmul__": lambda x, other: x.shape[-1],
    "scaled_dot_product_attention": lambda query, key, value: key.shape[-2],
}
"""The products that are watched, and the length of their sums."""


def named(call: Call) -> str:
    """What a person needs to compute it again."""
    func, args, kwargs = call
    shown = [list(each.shape) if isinstance(each, Tensor) else each for each in args]
    return f"{func.__name__} {shown} {kwargs or ''}"


def allowed(length: int, dtype: torch.dtype) -> float:
    """How large a root mean square error of a sum may be, relative to that of the result.

    The result is rounded once to `dtype`, at most half an eps; a sum of `length` terms in float32
    errs by some eps of float32 a term, and in a blocked order by far less. Kernels that sum in
    several parts may round each; so a whole eps and a half.
    """
    return 1.5 * torch.finfo(dtype).eps + 4 * math.sqrt(length) * torch.finfo(torch.float32).eps


def relative(found: Tensor, truth: Tensor) -> float:
    """Root mean square error over the truth's; infinite where something isn't finite."""
    size = truth.square().mean().sqrt().clamp_min(1e-300)
    error = float((found.double() - truth).square().mean().sqrt() / size)
    return error if math.isfinite(error) else math.inf


def errors(call: Call, precision: str) -> Iterator[tuple[str, float, float]]:
    """(which result, its relative error, the allowed one) of the result and of each gradient."""
    func, args, kwargs = call
    dtype, length = DTYPES[precision], LENGTHS[func.__name__](*args)
    if not all(each.isfinite().all() for each in args if isinstance(each, Tensor)):
        raise ValueError(f"{named(call)} was given something that isn't finite")
    rounded = [each.to(dtype).float() if _floating(each) else each for each in args]
    leaves = [each.requires_grad_() if _floating(each) else each for each in rounded]
    exact = [
        each.detach().double().requires_grad_() if _floating(each) else each for each in rounded
    ]
    with precision_context(CPU, precision):
        found = func(*leaves, **kwargs)
    truth = func(*exact, **kwargs)
    generator = torch.Generator().manual_seed(1)
    direction = torch.randn(truth.shape, generator=generator).to(dtype).float()
    wanted = [each for each in leaves if _floating(each)]
    gradients = torch.autograd.grad(found, wanted, direction.to(found.dtype))
    exact_gradients = torch.autograd.grad(
        truth, [each for each in exact if _floating(each)], direction.double()
    )
    # A softmax rounds what it is given and what it gives, and its gradient both again.
    several = 4.0 if func.__name__ == "scaled_dot_product_attention" else 1.0
    yield "result", relative(found.detach(), truth.detach()), several * allowed(length, dtype)
    for number, (ours_, theirs) in enumerate(zip(gradients, exact_gradients, strict=True)):
        terms = direction.numel() * length // max(1, theirs.numel()) + 1
        yield f"gradient {number}", relative(ours_, theirs), several * allowed(terms, dtype)


def _floating(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
