"""Train the small model that the repository ships, on everyday sounds made here, resumably."""

from dataclasses import replace
from pathlib import Path

import torch

from makers.sounds.learning import (
    LearningSettings,
    frames_of,
    held_out_map,
    learn,
    measured,
    write_learned,
)
from makers.sounds.mixing import Measured, Mixer, write_measured
from makers.sounds.phrases import matched
from makers.sounds.pool import Pool, PoolSettings, write_pool
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.job import job
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit

with job(snakemake):
    params = snakemake.params
    settings, device = params.settings, choose_device(params.device)
    precision = choose_precision(settings["training"]["precision"], device, "unscaled")
    training = {**settings["training"], "precision": precision}
    made_for = fingerprint({**dict(params.items()), "training": training}, [])
    sounds, scenes = (Path(params.checkpoint) / name for name in ("pool", "scenes"))
    write_pool(sounds, PoolSettings(**settings["sounds"]), made_for.digest)
    pool = Pool(sounds)
    mixer = Mixer(pool, frames_of(settings))
    seed = settings["sounds"]["seed"]
    write_measured(scenes, mixer, settings["scenes"], seed, made_for.digest)
    mixed = Measured(scenes, settings["scenes"])
    held_out = [mixer.held_out(number) for number in range(pool.settings.held_out)]
    learned = learn(
        settings,
        mixed,
        held_out,
        LearningSettings(**training),
        device,
        Checkpoint(params.checkpoint, made_for),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )
    model = matched(learned.model, mixed, **settings["phrases"])
    score = held_out_map(model, measured(held_out), torch.device("cpu"))
    learned = replace(learned, model=model, matched_map=score)
    write_learned(Path(snakemake.output[0]).parent, learned, {**settings, "training": training})
