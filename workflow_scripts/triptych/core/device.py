"""The device that a job computes on, in which precision, and its generators of random numbers.

`precision: auto` is what the device is good at, by a table of what was measured
(docs/performance.md, "Precision"). Nothing is timed: two runs on one machine must choose alike.
"""

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal

import torch

from triptych.core.errors import InputError
from triptych.core.provenance import cpu_name

logger = logging.getLogger(__name__)

PRECISIONS = ("float32", "tf32", "bf16")

Work = Literal["inference", "training", "narrow", "unscaled"]
"""What is computed: forward passes alone; updates whose gradients a scaler keeps from
underflowing, and these of linear layers too narrow for a processor to gain; gradients without a
scaler, which fp16 doesn't suit."""

LIMIT = "ONEDNN_MAX_CPU_ISA"
"""Environment variable by which oneDNN is kept from newer instructions."""

AMPERE, VOLTA = (8, 0), (7, 0)
"""Compute capabilities from which GPUs multiply in tf32 and bf16, and in fp16."""


_chosen: list[dict[str, str]] = []


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


def choose_precision(
    wanted: str,
    device: torch.device,
    work: Work,
    wrong: Callable[[str], str | None] | None = None,
) -> str:
    """The precision that `wanted` stands for on this device: itself, or for "auto" the best one.

    wrong: what is wrong with the results in a precision other than float32, or None; then "auto"
    gives way to float32. What is chosen is logged once, and stands in the job's provenance.
    """
    best, why = _best(device, work)
    if wanted != "auto":
        slow = device.type == "cpu" and wanted == "bf16" and best == "float32"
        return _noted(wanted, wanted, work, f"asked for, though {why}" if slow else "asked for")
    trouble = wrong(best) if wrong is not None and best != "float32" else None
    if trouble:
        return gives_way(best, work, trouble)
    return _noted(wanted, best, work, why)


def gives_way(precision: str, work: Work, trouble: str) -> str:
    """Record that "auto" computes in float32 from here on, because of the trouble; "float32"."""
    return _noted("auto", "float32", work, f"{precision} gives way: {trouble}")


def chosen_precisions() -> list[dict[str, str]]:
    """What this process chose so far, in order, for provenance: wanted, precision, work, why."""
    return [*_chosen]


def _noted(wanted: str, precision: str, work: Work, why: str) -> str:
    chosen = {"wanted": wanted, "precision": precision, "work": work, "why": why}
    if chosen not in _chosen:
        _chosen.append(chosen)
        if wanted == "auto" or why != "asked for":
            logger.info("precision %s (%s): %s, %s", wanted, work, precision, why)
    return precision


def _best(device: torch.device, work: Work) -> tuple[str, str]:
    """The precision from which the device gains most, and why."""
    if device.type == "cuda":
        capability = torch.cuda.get_device_capability(device)
        why = f"a GPU of compute capability {'.'.join(map(str, capability))}"
        if work == "unscaled":
            return "tf32" if capability >= AMPERE else "float32", why
        if capability < VOLTA:
            return "float32", why
        return "fp16" if work == "inference" or capability < AMPERE else "bf16", why
    if work == "narrow":
        return "float32", "its layers are too narrow for a processor to gain from bf16"
    return _on_a_processor()


def _on_a_processor() -> tuple[str, str]:
    """bf16 where the processor multiplies in it faster, and oneDNN may use that; else float32."""
    known = torch.cpu.get_capabilities()
    limit = os.environ.get(LIMIT, "ALL").upper()
    everything = limit in ("ALL", "DEFAULT")
    if known.get("amx_bf16") and (everything or "AMX" in limit):
        return "bf16", "the processor has AMX"
    allowed = everything or any(part in limit for part in ("BF16", "FP16", "AMX", "AVX10"))
    if known.get("avx512_bf16") and allowed:
        # AMD's multiply twice as many numbers an instruction in bf16; Intel's gained nothing.
        if "AMD" in cpu_name():
            return "bf16", "an AMD processor with AVX512-bf16"
        return "float32", "AVX512-bf16 without AMX gains nothing on this processor"
    if known.get("amx_bf16") or known.get("avx512_bf16"):
        return "float32", f"oneDNN is limited to {limit}, which has no bf16"
    return "float32", "the processor has no instructions for bf16"


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


def keyed_generator(device: torch.device, *key: int | str) -> torch.Generator:
    """A generator whose stream is a function of `key`, for instance ("train", seed, chunk)."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)
