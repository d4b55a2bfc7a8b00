"""Embed validation and evaluation by a finished model of somebody else's."""

from triptych.audio.data.shards import ClipStore
from triptych.audio.embedding_files import write_embeddings
from triptych.audio.models.model_files import open_model
from triptych.audio.training.corpus import read_splits
from triptych.audio.training.validation import embed_splits
from triptych.core.device import choose_device
from triptych.core.job import job

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    device = choose_device(params.device)
    splits = read_splits(files.manifest, files.captions, None)
    embedded = embed_splits(
        open_model(files.model, device),
        splits,
        ClipStore(files.shards),
        device,
        params.longest_seconds,
        "tf32",  # float32 on a CPU
    )
    write_embeddings(snakemake.output[0], embedded)
