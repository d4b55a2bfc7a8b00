"""Tensors without values that claim to be on a GPU, which needs none: a mix-up of devices raises.

Forward passes and data movement only: autograd and generators want a driver.
"""

import contextlib

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

CUDA = torch.device("cuda")


@contextlib.contextmanager
def fake_gpu():
    """Within it new tensors have no values, those on CUDA included, and autocast works there."""
    with pytest.MonkeyPatch.context() as patch, FakeTensorMode(), torch.no_grad():
        patch.setattr(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
        patch.setattr(torch.cuda, "is_bf16_supported", lambda *_: True)
        yield


def shaped(build):
    """The model that `build` makes, without values: within `FakeTensorMode`.

    Needed where a model looks at its first weights, which shapes alone don't allow.
    """
    with torch.device("meta"):
        model = build()
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            empty = torch.empty(parameter.shape, dtype=parameter.dtype)
            setattr(module, name, nn.Parameter(empty, parameter.requires_grad))
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, torch.empty(buffer.shape, dtype=buffer.dtype))
    return model


def moved(build):
    """The module that `build` makes as `.to("cuda")` leaves it: what is registered is moved.

    `Module.to` itself can't exchange the parameters of tensors without values.
    """
    module = shaped(build)
    for each in module.modules():
        for tensors in (each._parameters, each._buffers):
            for name, value in tensors.items():
                if value is not None:
                    made = torch.empty(value.shape, dtype=value.dtype, device=CUDA)
                    parameter = torch.nn.Parameter(made, value.requires_grad)
                    tensors[name] = parameter if tensors is each._parameters else made
    return module
