"""Average a trained network with the one that it began from: bolder strokes than its own, and
lighter skies than the other's (Wortsman et al. 2022, "Model soups")."""

import json
import shutil

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from triptych.core.job import job

with job(snakemake):
    share = snakemake.params.share
    with safe_open(snakemake.input.trained, "pt") as file:
        metadata = file.metadata()
    trained, begun = load_file(snakemake.input.trained), load_file(snakemake.input.begun)
    mixed = {
        name: (share * value.float() + (1 - share) * begun[name].float()).to(value.dtype)
        for name, value in trained.items()
    }
    header = json.loads(metadata["network"])
    header["record"]["averaged"] = {"share": share, "with": "the network that it began from"}
    shutil.copyfile(snakemake.input.losses, snakemake.output.losses)
    save_file(
        mixed, snakemake.output.network, {**metadata, "network": json.dumps(header, sort_keys=True)}
    )
