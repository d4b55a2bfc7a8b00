"""Networks as files: this project's, and checkpoints of the PyTorch examples."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.core.errors import InputError
from triptych.core.weights import read_state_dict
from triptych.style.data.tensor_files import read_tensors, write_tensors
from triptych.style.network.mixtures import mixture
from triptych.style.network.network import Architecture, Styled, TransformationNetwork


def save_network(
    path: str | os.PathLike[str], network: TransformationNetwork, record: Mapping[str, Any]
) -> None:
    """Write the network as safetensors; `record` says how it came about (painting, losses ...).

    `record` is anything that JSON can hold. The same arguments give the same bytes. A network of
    several styles is kept in half precision, whose rounding of weights no eye sees.
    """
    architecture = network.architecture
    header = {"architecture": asdict(architecture), "record": dict(record)}
    kept = torch.float16 if architecture.styles > 1 else torch.float32
    tensors = {name: value.to("cpu", kept) for name, value in network.state_dict().items()}
    tensors = {name: value.contiguous() for name, value in tensors.items()}
    write_tensors(path, tensors, "network", header)


def load_network(
    path: str | os.PathLike[str], style: str = ""
) -> tuple[TransformationNetwork, dict[str, Any]]:
    """The network and its record from `save_network`'s file or pytorch/examples' checkpoint.

    style: of a conditional network, whose record names its `styles`: one, or several mixed by
    weights ("swirls:2+ink:1"). Files of one style don't look at it.

    A checkpoint (.pth, .model, .pt) is read with weights_only; its architecture is inferred from
    the tensors' shapes, running statistics of old files are dropped, and the record names the
    file only. The network is on the CPU, in float32 and in evaluation mode. Raises InputError
    for any other file.
    """
    if not Path(path).is_file():
        raise InputError(
            f"{path}: there is no such file; expected a network (.safetensors) or a checkpoint of "
            "pytorch/examples' fast_neural_style (.pth, .model)"
        )
    if Path(path).suffix == ".safetensors":
        (architecture, record), state = read_tensors(
            path,
            "network",
            lambda header: (Architecture(**header["architecture"]), dict(header["record"])),
            "a transformation network (.safetensors), not a backbone or a training's weights",
        )
    else:
        state = _read_checkpoint(path)
        architecture = infer_architecture(state, str(path))
        record = {"origin": "checkpoint", "file": Path(path).name}
    network = TransformationNetwork(architecture)
    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in state.items()}
    if expected != found:
        wrong = sorted(set(expected.items()) ^ set(found.items()))[0]
        raise InputError(
            f"{path}: not a transformation network of width {architecture.width}: {wrong[0]} is "
            f"{found.get(wrong[0], 'missing')}, expected {expected.get(wrong[0], 'none')}"
        )
    network.load_state_dict({name: value.float() for name, value in state.items()})
    if architecture.styles > 1:
        weights = mixture(style, record["styles"], str(path))
        return Styled(network, torch.tensor(weights)).alone(), {**record, "style": style}
    return network.eval().requires_grad_(False), record


def infer_architecture(state: Mapping[str, Tensor], where: str) -> Architecture:
    """The architecture whose tensors `state` holds, by their shapes.

    A transposed convolution's weight is [in, out, 3, 3], a convolution's [out, in, 3, 3].
    """
    first, upsampling = state.get("conv1.conv2d.weight"), state.get("deconv1.conv2d.weight")
    if first is None or upsampling is None or first.ndim != 4 or upsampling.ndim != 4:
        raise InputError(
            f"{where}: {len(state)} tensors, among them no conv1.conv2d.weight or "
            "deconv1.conv2d.weight; expected a network of pytorch/examples' fast_neural_style"
        )
    blocks = {name.split(".")[0] for name in state if name.startswith("res")}
    transposed = upsampling.shape[0] > upsampling.shape[1]
    return Architecture(
        width=first.shape[0],
        upsampling="transposed" if transposed else "nearest",
        blocks=(0,) * len(blocks),
    )


def _read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    state = read_state_dict(
        path,
        "a state dict of pytorch/examples' fast_neural_style, saved with "
        "torch.save(model.state_dict())",
    )
    # Files from before torch 0.4 hold running statistics that the network never used.
    return {name: value for name, value in state.items() if ".running_" not in name}
