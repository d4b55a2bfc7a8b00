"""The device that a job computes on, and in which precision."""

import contextlib
import os
from contextlib import AbstractContextManager

import torch

from triptych.core.errors import InputError
from triptych.core.provenance import cpu_name

PRECISIONS = ("float32", "tf32", "bf16")


def choose_device(wanted: str) -> torch.device:
    """The device for "auto" (a GPU where there is one), "cpu" or "cuda".

    Raises ValueError when a GPU was asked for and there is none.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "device: cuda was asked for, but PyTorch finds no GPU here. "
            "Set device: auto or cpu in the config, or check the driver with nvidia-smi."
        )
    return torch.device(wanted)


def precision_context(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Context for products and convolutions in "float32", "tf32" (GPUs only) or "bf16" (autocast).

    On a CPU tf32 is float32. Raises ValueError for another name.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision {precision!r} is not one of {', '.join(PRECISIONS)}")
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"  # True by itself, for convolutions
    if precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return contextlib.nullcontext()


def training_precision(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """`precision_context`, and "fp16" on GPUs, whose gradients a scaler keeps from underflowing."""
    if precision != "fp16":
        return precision_context(device, precision)
    if device.type != "cuda":
        raise InputError("precision fp16 needs a GPU; on a CPU use bf16 or float32")
    return torch.autocast(device.type, dtype=torch.float16)


def describe_device(device: torch.device) -> str:
    """What a table says about where its numbers were measured."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{cpu_name()}, {os.cpu_count()} cores"
