"""Fine-tune a pretrained model on Clotho: all runs of its pair and corpus, one after the other."""

from pathlib import Path

from triptych.audio.models.retrieval import load_model
from triptych.audio.training.corpus import Corpus
from triptych.audio.training.runs import JobSettings, result_fingerprint, train_runs
from triptych.audio.training.settings import training_settings
from triptych.core.job import job
from triptych.core.stopping import StopRequest, scheduler_limit

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    shared = JobSettings(
        Corpus(files.manifest, files.captions, files.shards, files.queries, files.variations),
        lambda seed: load_model(files.pretrained),
        training_settings(
            {
                **params.training,
                "workers": snakemake.resources.workers,
                "checkpoint_minutes": float(snakemake.resources.checkpoint_minutes),
            }
        ),
        datasets=["clotho"],
        targets=params.targets,
        shown=params.shown,
        sources=params.sources,
    )
    train_runs(
        params.runs,
        [Path(snakemake.output[0], Path(run["folder"]).name) for run in params.runs],
        shared,
        device=params.device,
        checkpoint=params.checkpoint,
        made_from=result_fingerprint(dict(params.items()), files),
        stop=StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )
