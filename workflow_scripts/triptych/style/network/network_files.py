"""Networks from files, this project's and checkpoints of the PyTorch examples, or from chance; as
files, ONNX among them."""

import copy
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.weights import (
    differences,
    exported,
    read_state_dict,
    read_tensors,
    shapes,
    write_tensors,
)
from triptych.style.network.architecture import Architecture, Upsampling
from triptych.style.network.mixtures import mixture, styles_of
from triptych.style.network.network import Styled, TransformationNetwork


def save_network(
    path: str | os.PathLike[str], network: TransformationNetwork, record: Mapping[str, Any]
) -> None:
    """Write the network as safetensors; `record`, of what JSON can hold, says how it came about.

    A network of several styles is kept in half precision, whose rounding of weights no eye sees.
    """
    architecture = network.architecture
    header = {"architecture": asdict(architecture), "record": dict(record)}
    dtype = torch.float16 if architecture.styles > 1 else torch.float32
    tensors = {name: value.to("cpu", dtype) for name, value in network.state_dict().items()}
    tensors = {name: value.contiguous() for name, value in tensors.items()}
    write_tensors(path, tensors, "network", header)


def load_network(
    path: str | os.PathLike[str], style: str = ""
) -> tuple[TransformationNetwork, dict[str, Any]]:
    """The network and its record from `save_network`'s file or pytorch/examples' checkpoint.

    style: of a conditional network, whose record names its `styles`: one, or several mixed by
    weights ("swirls:2+waves:1"). Of a checkpoint (.pth, .model, .pt) the architecture is inferred
    from the tensors' shapes, and the record names the file only. The network is on the CPU, in
    float32 and in evaluation mode. Raises InputError for any other file.
    """
    if is_safetensors(path):
        (architecture, record), state = read_tensors(
            path,
            "network",
            lambda header: (Architecture(**header["architecture"]), dict(header["record"])),
            "a transformation network (.safetensors), not a backbone",
        )
    else:
        kind = "a state dict of pytorch/examples' fast_neural_style"
        # Files from before torch 0.4 hold running statistics that the network never used.
        read = read_state_dict(path, f"{kind}, saved with torch.save(model.state_dict())").items()
        state = {name: value for name, value in read if ".running_" not in name}
        architecture = infer_architecture(state, str(path))
        record = {"origin": "checkpoint", "file": Path(path).name}
    network = TransformationNetwork(architecture)
    if wrong := differences(shapes(state), shapes(network.state_dict())):
        raise InputError(f"{path}: not a network of width {architecture.width}: {wrong}")
    network.load_state_dict({name: value.float() for name, value in state.items()})
    if architecture.styles > 1:
        weights = mixture(style, record["styles"], str(path))
        return Styled(network, torch.tensor(weights)).alone(), {**record, "style": style}
    return network.eval().requires_grad_(False), record


def is_safetensors(path: str | os.PathLike[str]) -> bool:
    """Whether a file is of that format by its first bytes, or its suffix where it is missing."""
    if not Path(path).is_file():
        return Path(path).suffix.lower() == ".safetensors"
    with open(path, "rb") as file:
        start = file.read(9)
    return start[8:] == b"{" or Path(path).suffix.lower() == ".safetensors"


def infer_architecture(state: Mapping[str, Tensor], where: str) -> Architecture:
    """The architecture whose tensors `state` holds, by their shapes."""
    first, upsampling = state.get("conv1.conv2d.weight"), state.get("deconv1.conv2d.weight")
    if first is None or upsampling is None or first.ndim != 4 or upsampling.ndim != 4:
        expected = "expected a network of pytorch/examples' fast_neural_style"
        raise InputError(f"{where}: no conv1.conv2d.weight or deconv1.conv2d.weight; {expected}")
    blocks = {name.split(".")[0] for name in state if name.startswith("res")}
    # [in, out, 3, 3] of a transposed convolution, [out, in, 3, 3] of another.
    transposed = upsampling.shape[0] > upsampling.shape[1]
    kind: Upsampling = "transposed" if transposed else "nearest"
    return Architecture(first.shape[0], kind, (0,) * len(blocks))


SHIPPED = "resources/style/networks/several_styles.safetensors"


def initial_network(architecture: Architecture, seed: int) -> TransformationNetwork:
    """Network with PyTorch's default initialisation; leaves the global random state alone."""
    with torch.random.fork_rng(devices=[]):
        seed = keyed_generator(torch.device("cpu"), "network", seed).initial_seed()
        torch.manual_seed(seed)
        return TransformationNetwork(architecture)


def finished_network(path: Path, architecture: Architecture) -> TransformationNetwork:
    """Network with the weights of a file's conditional network, to be trained on.

    Each style begins with the mean of the norms of the file's styles. Raises InputError for a file
    of one style, or of another architecture but for the number of styles.
    """
    stored_styles = styles_of(path)
    if not stored_styles:
        raise InputError(f"{path} is no network of several styles; expected one such as {SHIPPED}")
    mean_style, _ = load_network(path, "+".join(stored_styles))
    if replace(architecture, styles=1) != mean_style.architecture:
        raise InputError(
            f"{path} has {mean_style.architecture}, the configuration's style.network "
            f"{architecture}; make them agree, or begin with random weights "
            '(style.networks.initial_weights: "")'
        )
    network = TransformationNetwork(architecture)
    weights, random = mean_style.state_dict(), network.state_dict()
    for name in mean_style.of_styles():
        weights[name] = torch.stack([weights[name]] * architecture.styles).view_as(random[name])
    network.load_state_dict(weights)
    return network


def export_styles(path: str | os.PathLike[str], network: TransformationNetwork) -> None:
    """Write a network of S styles as ONNX, of photographs in [0, 1] and a mixture that sums to 1.

    Height and width are free, of `Architecture.smallest` pixels or more.
    """
    count, free = network.architecture.styles, torch.export.Dim.DYNAMIC
    example = torch.rand(1, 3, 71, 93), torch.full((count,), 1 / count)
    sizes: Any = ({2: free, 3: free}, {})
    mixed = _Mixed(copy.deepcopy(network).cpu().eval())
    program = exported(mixed, example, ["photograph", "mixture"], "stylised", sizes)
    model: Any = program.model_proto
    graph = model.graph
    # The exporter's stack traces name this machine's folders, and differ from export to export.
    parts = (graph.node, graph.value_info, graph.initializer, graph.input, graph.output, [graph])
    for part in parts:
        for item in part:
            item.ClearField("metadata_props")
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))


class _Mixed(torch.nn.Module):
    """A conditional network as a function of the photograph and the mixture of its styles."""

    def __init__(self, network: TransformationNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor, mixture: Tensor) -> Tensor:
        return Styled(self.network, mixture)(images)
