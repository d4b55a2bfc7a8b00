"""Train a small backbone on photographs that installed packages carry, resumably."""

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.style.backbones.backbone import ARCHITECTURES, save_backbone
from triptych.style.backbones.pretraining import PretrainingSettings, pretrain
from triptych.style.inputs.photographs import embedded_photographs

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    photographs = embedded_photographs(grey=True)
    trained = pretrain(
        ARCHITECTURES[params.architecture],
        photographs,
        PretrainingSettings.from_table(params.settings),
        choose_device(params.device),
        Checkpoint(params.checkpoint, fingerprint(dict(params.items()), [])),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )
    write_csv(trained.log, output.log)
    save_backbone(
        output.weights,
        trained.backbone,
        weights="embedded",
        origin={"photographs": list(photographs), "settings": dict(params.settings)},
    )
