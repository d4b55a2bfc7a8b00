"""Stylise every frame of the source video, losslessly, and time batches of several sizes."""

import torch

from triptych.core.device import choose_device, describe_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.style.network.network_files import load_network
from triptych.style.video.transfer import frame_speeds, network_stylist, stylise_video

with job(snakemake):
    keep_freed_memory()
    params, source, output = snakemake.params, snakemake.input.source, snakemake.output
    device = choose_device(params.device)
    network, _ = load_network(snakemake.input.network, snakemake.wildcards.painting)
    stylist = network_stylist(network, device, params.precision)
    stylise_video(source, output.frames, stylist, params.batch, times_path=output.times)
    where = {"device": describe_device(device), "threads": torch.get_num_threads()}
    speed = frame_speeds(source, stylist, batches=sorted({1, params.batch}), **params.speed)
    write_csv(speed.assign(**where, **dict(snakemake.wildcards.items())), output.speed)
