"""The precision of matrix products in training and evaluation."""

from contextlib import AbstractContextManager

import torch

from triptych.core.device import precision_context
from triptych.core.errors import InputError


def training_precision(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """`precision_context`, and "fp16" on GPUs, whose gradients a scaler keeps from underflowing."""
    if precision != "fp16":
        return precision_context(device, precision)
    if device.type != "cuda":
        raise InputError("precision fp16 needs a GPU; on a CPU use bf16 or float32")
    return torch.autocast(device.type, dtype=torch.float16)
