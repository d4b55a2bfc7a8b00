"""Write the network of several styles as ONNX, which paints a picture without PyTorch's start."""

import torch
from safetensors.torch import load_file

from triptych.style.network.export import export_styles
from triptych.style.network.mixtures import header_of
from triptych.style.network.network import Architecture, TransformationNetwork

torch.set_num_threads(1)
path = snakemake.input[0]
network = TransformationNetwork(Architecture(**header_of(path)["architecture"]))
network.load_state_dict({name: value.float() for name, value in load_file(path).items()})
export_styles(snakemake.output[0], network)
