"""Linear layers in float32 by oneDNN where PyTorch would take MKL, on AMD's processors.

MKL runs at half speed there (on a Zen 5 core 100 GFLOP/s, oneDNN 210, forward and backward, at
widths from 96 to 3072). On Intel's it is as fast, and elsewhere PyTorch doesn't use it.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional

from triptych.core.provenance import cpu_name


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """As `torch.nn.functional.linear`, up to the rounding of float32."""
    if (
        inputs.device.type == "cpu"
        and inputs.dtype == weight.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and onednn_is_faster()
    ):
        return _Linear.apply(inputs, weight, bias)
    return functional.linear(inputs, weight, bias)


class Linear(nn.Linear):
    """As `torch.nn.Linear`, by `linear`."""

    def forward(self, inputs: Tensor) -> Tensor:
        """[..., in] to [..., out]."""
        return linear(inputs, self.weight, self.bias)


@cache
def onednn_is_faster() -> bool:
    """Whether this is a processor on which `linear` goes its own way."""
    return (
        "AMD" in cpu_name()
        and torch.backends.mkl.is_available()
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return _product(inputs, weight, bias)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[no-untyped-def]
        inputs, weight = ctx.saved_tensors
        rows = gradient.flatten(0, -2)
        to_inputs = _product(gradient, weight.T) if ctx.needs_input_grad[0] else None
        to_weight = _product(rows.T, inputs.flatten(0, -2).T) if ctx.needs_input_grad[1] else None
        return to_inputs, to_weight, rows.sum(0) if ctx.needs_input_grad[2] else None


def _product(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """inputs [..., K] times the transpose of weight [N, K]."""
    # What PyTorch's own compiler calls: the public functions choose MKL.
    return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")
