"""Choose the checkpoint of the lowest loss on held-out photographs."""

from triptych.core.device import choose_device, choose_precision
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.style.data.shards import Shards
from triptych.style.network.perceptual import LossSettings
from triptych.style.network.training_files import (
    read_checkpoints,
    read_loss,
    select_network,
)

with job(snakemake):
    keep_freed_memory()
    params, files, output = snakemake.params, snakemake.input, snakemake.output
    device, training = choose_device(params.device), params.training
    losses, size = LossSettings.from_table(params.losses), training["painting_size"]
    loss = read_loss(files.backbone, training["pooling"], files.paintings, size, losses, device)
    schedule = training["schedule"]
    select_network(
        read_checkpoints(files.weights),
        loss,
        Shards(files.crops, files.index),
        schedule["batch"],
        choose_precision(schedule["precision"], device, "training"),
        device,
        network=output.network,
        selection=output.selection,
    )
