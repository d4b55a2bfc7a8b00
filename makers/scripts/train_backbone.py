"""Train a small backbone on photographs that installed packages carry, resumably."""

from makers.backbones.pretraining import PretrainingSettings, pretrain
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.style.data.backbone import ARCHITECTURES, save_backbone
from triptych.style.data.photographs import embedded_photographs

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    photographs = embedded_photographs(grey=True)
    device = choose_device(params.device)
    precision = choose_precision(params.settings["precision"], device, "unscaled")
    settings = {**params.settings, "precision": precision}
    given = {**dict(params.items()), "settings": settings}
    trained = pretrain(
        ARCHITECTURES[params.architecture],
        photographs,
        PretrainingSettings.from_table(settings),
        device,
        Checkpoint(params.checkpoint, fingerprint(given, [])),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )
    write_csv(trained.log, output.log)
    save_backbone(
        output.weights,
        trained.backbone,
        weights="embedded",
        origin={"photographs": list(photographs), "settings": settings},
    )
