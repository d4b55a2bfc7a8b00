"""PyTorch's files of weights, read without running what a pickle may hold."""

import os

import torch
from torch import Tensor

from triptych.core.errors import InputError


def read_state_dict(path: str | os.PathLike[str], expected: str) -> dict[str, Tensor]:
    """The tensors by name that `torch.save(model.state_dict())` wrote, on the CPU.

    Nothing in the file is executed. Raises InputError, saying what was `expected`, for any file
    that is damaged or holds more than tensors.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged file
        raise InputError(
            f"{path}: cannot be read as plain weights ({_reason(error)}); expected {expected}"
        ) from error
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in state.items()
    ):
        raise InputError(
            f"{path}: holds {type(state).__name__}, not only tensors by name; expected {expected}"
        )
    return state


def _reason(error: Exception) -> str:
    """One line, without torch's advice to read the file in spite of what it may do."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "weights_only" not in line]
    return f"{type(error).__name__}: {told[0]}" if told else type(error).__name__
