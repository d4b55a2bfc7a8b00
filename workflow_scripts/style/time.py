"""Time both versions image by image (Table I), and Version 1 by content loss (Figure 4)."""

import pandas as pd

from triptych.core.device import choose_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.style.data.backbone import load_backbone
from triptych.style.data.images import read_image, resize
from triptych.style.data.shards import Shards
from triptych.style.measures.timing import loss_times, network_times, optimisation_times
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network_files import load_network
from triptych.style.network.stylize import checked_precision
from triptych.style.optimise.presets import NOTEBOOK, OURS, timed_choices

with job(snakemake):
    keep_freed_memory()
    given, params = snakemake.input, snakemake.params
    device, settings, losses = choose_device(params.device), params.timing, params.timing["losses"]
    shards = Shards(*given.photographs)
    photographs = shards.batch(shards.validation[: settings["photographs"]]).float() / 255
    painting = read_image(given.painting)
    backbones = {
        name: load_backbone(given[name], pooling="max").to(device) for name in ("alexnet", "vgg")
    }
    network, _ = load_network(given.network, params.main)
    network = network.to(device)
    precision = checked_precision(network, photographs[0].to(device), params.precision)
    prepared = PreparedNetwork(network, precision)
    sizes, images = settings["sizes"], []
    kinds = ((NOTEBOOK, settings["notebook"], 1), (OURS, len(photographs), settings["batch"]))
    for kind, count, batch in kinds:
        with_choices = {
            name: (backbone, timed_choices(kind, params.architectures[name]))
            for name, backbone in backbones.items()
        }
        lengths = (settings["evaluations"], settings["stated"])
        of_kind = (photographs[:count], painting, with_choices, sizes, *lengths)
        images.append(optimisation_times(*of_kind, batch, kind, device))
    repeats = settings["repeats"]
    images.append(network_times(photographs, prepared, sizes, repeats, precision, device))
    write_csv(pd.concat(images), snakemake.output.images)
    content, style = (
        resize(image, losses["size"], "squashed")[None].to(device)
        for image in (photographs[0], painting)
    )
    choices = timed_choices(OURS, params.architectures["vgg"])
    lengths = (losses["evaluations"], losses["repeats"])
    by_loss = loss_times(content, style, backbones["vgg"], choices, *lengths, device)
    write_csv(by_loss, snakemake.output.losses)
