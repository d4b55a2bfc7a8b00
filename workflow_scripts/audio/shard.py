"""Resample a data set's clips once, into shards with an index, going on with what is unfinished."""

from triptych.audio.data.audio_sources import open_audio
from triptych.audio.data.shard_writing import write_shards
from triptych.audio.data.tables import read_table
from triptych.core.job import job
from triptych.core.provenance import fingerprint

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    write_shards(
        read_table(files.clips),
        open_audio(params.audio),
        snakemake.output[0],
        params.kind,
        checkpoint=params.checkpoint,
        fingerprint=fingerprint(dict(params.items()), [files.clips]).digest,
        threads=snakemake.threads,
    )
