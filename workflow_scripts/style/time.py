"""Time both versions image by image (Table I), and Version 1 by content loss (Figure 4)."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from triptych.core.device import choose_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.style.data.backbone import load_backbone
from triptych.style.data.images import read_image, resize
from triptych.style.data.shards import Shards
from triptych.style.measures.timing import (
    loss_times,
    network_times,
    optimisation_times,
    table1_times,
)
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network_files import load_network
from triptych.style.network.stylize import checked_precision
from triptych.style.optimise.choices import NOTEBOOK, OURS, timed_choices

with job(snakemake):
    keep_freed_memory()
    files, params = snakemake.input, snakemake.params
    device = choose_device(params.device)
    settings = params.timing
    shards = Shards(Path(files.photographs[0]).parent)
    photographs = shards.batch(shards.validation[: settings["photographs"]]).float() / 255
    painting = read_image(files.painting)
    backbones = {
        name: load_backbone(files[name], pooling="max").to(device) for name in ("alexnet", "vgg")
    }
    images = []
    for name, backbone in backbones.items():
        choices = timed_choices(NOTEBOOK, params.architectures[name])
        times = optimisation_times(
            photographs[: settings["notebook"]],
            painting,
            backbone,
            choices,
            sizes=settings["sizes"],
            evaluations=settings["evaluations"],
            device=device,
        )
        columns = {
            "version": 1,
            "backbone": name,
            "evaluations": settings["evaluations"],
            "evaluations_stated": settings["stated"],
            "settings": NOTEBOOK,
            "precision": choices.precision,
        }
        images.append(table1_times(times, device, **columns))

    network, _ = load_network(files.network, params.main)
    network = network.to(device)
    precision = checked_precision(network, photographs[0].to(device), params.precision)
    times = network_times(
        photographs,
        PreparedNetwork(network, precision),
        sizes=settings["sizes"],
        repeats=settings["repeats"],
        device=device,
    )
    images.append(table1_times(times, device, version=2, precision=precision))
    write_csv(pd.concat(images), snakemake.output.images)

    losses = settings["losses"]
    content, style = (
        resize(image, losses["size"], "squashed")[None].to(device)
        for image in (photographs[0], painting)
    )
    choices = timed_choices(OURS, params.architectures["vgg"])
    by_loss = loss_times(
        content,
        style,
        backbones["vgg"],
        [replace(choices, content_loss=name) for name in params.content_losses],
        evaluations=losses["evaluations"],
        repeats=losses["repeats"],
        device=device,
    )
    write_csv(by_loss, snakemake.output.losses)
