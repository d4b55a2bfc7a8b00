"""A module as ONNX by PyTorch's exporter, without its narration."""

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

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


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing below an error is logged: the exporter narrates on every level."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
