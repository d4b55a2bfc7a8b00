"""Train a network for a painting, resuming where an attempt stopped, and choose its checkpoint."""

from pathlib import Path

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.job import job
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.style.data.images import read_image
from triptych.style.data.missing import missing_reason
from triptych.style.data.shards import Shards
from triptych.style.network.architecture import Architecture
from triptych.style.network.network_files import finished_network, initial_network
from triptych.style.network.perceptual import LossSettings
from triptych.style.network.training import train
from triptych.style.network.training_data import TrainingSettings
from triptych.style.network.training_files import read_loss, select, write_training

with job(snakemake):
    params, files, output = snakemake.params, snakemake.input, snakemake.output
    device = choose_device(params.device)
    precision = choose_precision(params.training["precision"], device, "training")
    training = {**params.training, "precision": precision}
    settings = {**dict(params.items()), "training": training}
    del settings["shown"]
    architecture = Architecture(**params.architecture, styles=len(params.styles))
    loss = read_loss(
        files.backbone,
        params.pooling,
        files.paintings,
        size=params.painting_size,
        settings=LossSettings(**params.losses),
        device=device,
    )
    network = initial_network(architecture, params.training["seed"])
    for initial in files.initial:
        network = finished_network(Path(initial), architecture)
    crops = Shards(Path(files.crops).parent)
    photograph = None if missing_reason(files.content) else read_image(files.content)
    data = [file for file in files if file != files.content]  # which changes no weight
    trained = train(
        network,
        loss,
        crops,
        TrainingSettings(**training),
        device=device,
        checkpoint=Checkpoint(params.checkpoint, fingerprint(settings, data)),
        stop=StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
        photograph=photograph,
        pictures=Path(params.shown),
    )
    selected = select(
        trained,
        architecture,
        loss,
        crops,
        batch=training["batch"],
        precision=precision,
        device=device,
    )
    keys = ("painting", "variant", "styles", "origin", "losses", "training", "painting_size")
    record = {key: settings[key] for key in keys}
    write_training(trained, architecture, selected, record, **dict(output.items()))
