"""The device and precision of a job, and its random number generators.

`precision: auto` is the fastest sound precision of a device, by a table of measurements
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
"""inference: forward passes alone; training: updates with a gradient scaler; narrow: training of
layers too narrow to gain from bf16 on a processor; unscaled: gradients without a scaler, which
fp16 needs."""

LIMIT = "ONEDNN_MAX_CPU_ISA"
"""Environment variable that limits the instructions which oneDNN uses."""

AMPERE, VOLTA = (8, 0), (7, 0)
"""Compute capabilities from which GPUs multiply in tf32 and bf16, and in fp16."""


_chosen: list[dict[str, str]] = []


def choose_device(name: str) -> torch.device:
    """Return the device for "auto" (a GPU if there is one), "cpu" or "cuda".

    Raises ValueError for "cuda" without a GPU.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "device is cuda, but PyTorch finds no GPU here. "
            "Set device: auto or cpu in the config, or check the driver with nvidia-smi."
        )
    return torch.device(name)


def choose_precision(
    requested: str,
    device: torch.device,
    work: Work,
    wrong: Callable[[str], str | None] | None = None,
) -> str:
    """Resolve "auto" to the best precision of the device; return any other one as it is.

    wrong: describes what is wrong with the results in a precision other than float32, or returns
    None; if something is, "auto" becomes float32. The choice is logged and part of the provenance.
    """
    best, why = _best(device, work)
    if requested != "auto":
        slow = device.type == "cpu" and requested == "bf16" and best == "float32"
        reason = f"asked for, though {why}" if slow else "asked for"
        return _record(requested, requested, work, reason)
    trouble = wrong(best) if wrong is not None and best != "float32" else None
    if trouble:
        return gives_way(best, work, trouble)
    return _record(requested, best, work, why)


def gives_way(precision: str, work: Work, trouble: str) -> str:
    """Record that "auto" is float32 from here on because of a problem; return "float32"."""
    return _record("auto", "float32", work, f"{precision} gives way: {trouble}")


def chosen_precisions() -> list[dict[str, str]]:
    """Choices of this process in their order, for provenance: wanted, precision, work, why."""
    return [*_chosen]


def _record(requested: str, precision: str, work: Work, why: str) -> str:
    chosen = {"wanted": requested, "precision": precision, "work": work, "why": why}
    if chosen not in _chosen:
        _chosen.append(chosen)
        if requested == "auto" or why != "asked for":
            logger.info("precision %s (%s): %s, %s", requested, work, precision, why)
    return precision


def _best(device: torch.device, work: Work) -> tuple[str, str]:
    """The fastest precision on the device, and why."""
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
    """bf16 if the processor multiplies faster in it and oneDNN may use that; else float32."""
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
    """A context in which products and convolutions are "float32", "tf32" or "bf16" (autocast).

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
    """`precision_context`, and "fp16" on GPUs, for gradients with a scaler."""
    if precision != "fp16":
        return precision_context(device, precision)
    if device.type != "cuda":
        raise InputError("precision fp16 needs a GPU; on a CPU use bf16 or float32")
    return torch.autocast(device.type, dtype=torch.float16)


def describe_device(device: torch.device) -> str:
    """Name of the device for tables of measurements."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{cpu_name()}, {os.cpu_count()} cores"


def keyed_generator(device: torch.device, *key: int | str) -> torch.Generator:
    """A generator whose stream depends on `key` alone, for instance ("train", seed, chunk)."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)
