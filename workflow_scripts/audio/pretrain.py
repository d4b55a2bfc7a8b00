"""Pretrain a pair of models on a corpus, resuming where an interrupted attempt stopped."""

from functools import partial

from triptych.audio.models.retrieval import build_model
from triptych.audio.models.settings import ModelSettings
from triptych.audio.training.corpus import Corpus
from triptych.audio.training.runs import JobSettings, result_fingerprint, train_runs
from triptych.audio.training.settings import training_settings
from triptych.core.job import job
from triptych.core.stopping import StopRequest, scheduler_limit

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    settings = ModelSettings.from_config(params.audio_model, params.model)
    shared = JobSettings(
        Corpus(
            files.manifest,
            files.captions,
            files.shards,
            files.queries,
            one_caption=["audiocaps"] if params.audiocaps_captions == "first" else [],
        ),
        partial(build_model, settings, files.text, files.audio_weights or None),
        training_settings(
            {
                **params.training,
                "workers": snakemake.resources.workers,
                "checkpoint_minutes": float(snakemake.resources.checkpoint_minutes),
            }
        ),
        targets=params.model["targets"],
        untrained=params.untrained,
        shown=params.shown,
        sources=params.sources,
    )
    train_runs(
        params.runs,
        [snakemake.output[0]],
        shared,
        device=params.device,
        checkpoint=params.checkpoint,
        made_from=result_fingerprint(dict(params.items()), files),
        stop=StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )
