"""Optimise the images of one experiment of Version 1, resuming where an attempt stopped."""

import logging
from pathlib import Path

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.style.data.images import write_image
from triptych.style.data.missing import missing_among
from triptych.style.data.shards import Shards
from triptych.style.optimise.runs import Inputs, run_experiment, usable_memory

logger = logging.getLogger("triptych.style")

with job(snakemake):
    keep_freed_memory()
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    missing = missing_among([*files.contents, *files.paintings])
    for name, reason in missing.items():
        logger.warning("%s is missing (%s): its images are left out", name, reason)
    rows = [run for run in params.runs if not missing.keys() & {run["content"], run["painting"]}]
    roles = {run["backbone"] for run in rows}
    calibration = None
    if files.photographs:
        shards = Shards(Path(files.photographs[0]).parent)
        crops = range(min(params.calibration, len(shards)))
        calibration = shards.batch(crops).float() / 255
    inputs = Inputs(
        contents={Path(path).stem: path for path in files.contents},
        paintings={Path(path).stem: path for path in files.paintings},
        backbones={role: files[f"weights_{role}"] for role in roles},
        calibration=calibration,
    )
    device, resources = choose_device(params.device), snakemake.resources
    runs = [
        {**run, "precision": choose_precision(run["precision"], device, "unscaled")} for run in rows
    ]
    settled = fingerprint({**dict(params.items()), "runs": runs}, files)
    checkpoint = Checkpoint(params.checkpoint, settled)
    stop = StopRequest(scheduler_limit(resources.get("runtime")))
    memory = usable_memory(device, resources.get("mem_mb"))
    optimised = run_experiment(runs, inputs, device, memory, checkpoint, stop)
    write_csv(optimised.runs, output.runs)
    write_csv(optimised.history, output.history)
    Path(output.images).mkdir(parents=True, exist_ok=True)
    for run, image in optimised.images.items():
        write_image(Path(output.images) / f"{run}.png", image)
