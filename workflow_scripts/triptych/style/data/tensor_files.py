"""Tensors in a safetensors file with a JSON header: backbones and networks."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from triptych.core.errors import InputError
from triptych.core.files import atomic_path

T = TypeVar("T")


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], kind: str, header: object
) -> None:
    """Write tensors with a header, of what JSON can hold, under the metadata's one key `kind`."""
    with atomic_path(path) as temporary:
        save_file(dict(tensors), temporary, {kind: json.dumps(header, sort_keys=True)})


def read_tensors(
    path: str | os.PathLike[str], kind: str, parsed: Callable[[Any], T], expected: str
) -> tuple[T, dict[str, Tensor]]:
    """The header under `kind` as `parsed` reads it, and the tensors.

    Raises InputError for any other file; expected: what it should be, for people.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file; expected {expected}")
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        wrong = f"not a whole safetensors file ({error})"
        raise InputError(f"{path}: {wrong}; expected {expected}") from error
    if kind not in metadata:
        raise InputError(f"{path}: no metadata {kind!r}; expected {expected}")
    try:
        return parsed(json.loads(metadata[kind])), tensors
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: its metadata cannot be read ({error!r}); expected {expected} that this "
            "version of the project wrote"
        ) from error
