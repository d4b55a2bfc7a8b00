"""Files of networks: PyTorch's weights, read without unpickling; safetensors, with a JSON header or
without; ONNX."""

import contextlib
import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from triptych.core.errors import InputError
from triptych.core.files import atomic_path

T = TypeVar("T")


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


def differences(
    actual: Mapping[str, tuple[int, ...]], expected: Mapping[str, tuple[int, ...]]
) -> str:
    """Describe how tensors' names and shapes differ from the expected ones; "" if they don't."""
    reshaped = [
        f"{name} {actual[name]} instead of {expected[name]}"
        for name in sorted(actual.keys() & expected.keys())
        if actual[name] != expected[name]
    ]
    return "; ".join(
        f"{len(names)} {what} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
        for what, names in (
            ("missing", sorted(expected.keys() - actual.keys())),
            ("unknown", sorted(actual.keys() - expected.keys())),
            ("of another shape", reshaped),
        )
        if names
    )


def shapes(state: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in state.items()}


def _reason(error: Exception) -> str:
    """First line of an error, without torch's advice to unpickle the file."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "weights_only" not in line]
    return f"{type(error).__name__}: {reasons[0]}" if reasons else type(error).__name__


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


OPSET = 20


def exported(
    network: nn.Module,
    example: tuple[Tensor, ...],
    inputs: Sequence[str],
    output: str,
    sizes: Any,
) -> torch.onnx.ONNXProgram:
    """The module as it is for `example`'s tensors, with free `sizes`.

    inputs, output: their names in the file.  sizes: as `dynamic_shapes` of `torch.onnx.export`.
    The program still holds the exporter's traces, which name this machine's folders.
    """
    with warnings.catch_warnings(), _quiet():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            network,
            example,
            input_names=list(inputs),
            output_names=[output],
            dynamic_shapes=sizes,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return program


def quantise(path: Path) -> None:
    """Make the weights of an ONNX file 8 bits wide and keep them inside it.

    By ONNX Runtime's dynamic quantisation; activations are quantised as they come.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(path)
    del model.graph.value_info[:]  # shapes of before the exporter folded transposes
    with _quiet():
        quantize_dynamic(model, path, weight_type=QuantType.QUInt8)
    path.with_name(f"{path.name}.data").unlink()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings and lower levels, on which the exporter logs every step."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def save_weights(model: nn.Module, path: str | os.PathLike[str], half: bool = False) -> None:
    """Write a model's weights alone as safetensors.

    half: in half precision, which a model that is shipped is rounded to.
    """
    tensors = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
    if half:
        tensors = {k: v.half() if v.is_floating_point() else v for k, v in tensors.items()}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary)
