"""Stylise the source video with its sound, measure its flicker, and time batches of two sizes."""

import logging

import torch

from triptych.core.device import choose_device, describe_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.style.network.network_files import load_network
from triptych.style.video.flicker import Flicker
from triptych.style.video.transfer import frame_speeds, network_stylist, properties, stylise_to_mp4

with job(snakemake):
    keep_freed_memory()
    params, source, output = snakemake.params, snakemake.input.source, snakemake.output
    names = dict(snakemake.wildcards.items())
    device = choose_device(params.device)
    network, _ = load_network(snakemake.input.network, snakemake.wildcards.painting)
    stylist = network_stylist(network, device, params.precision)
    flicker = Flicker()
    missing = stylise_to_mp4(
        source, output.video, stylist, params.batch, crf=params.crf, watch=flicker.add
    )
    if missing:
        logging.warning(missing)
    write_csv(flicker.table().assign(**names), output.flicker)
    table = properties({"source": source, "video": output.video})
    write_csv(table.assign(**names), output.properties)
    speed = frame_speeds(source, stylist, batches=sorted({1, params.batch}), **params.speed)
    speed = speed.assign(device=describe_device(device), threads=torch.get_num_threads())
    write_csv(speed.assign(**names), output.speed)
