"""Export a network as ONNX and test it against PyTorch at several sizes."""

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.network.export import export_onnx, parity
from triptych.style.network.network_files import load_network
from triptych.style.network.training_files import named

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    network, _ = load_network(snakemake.input.network, params.painting)
    export_onnx(output.network, network)
    write_csv(named(parity(output.network, network), params), output.parity)
