"""List the clips and captions of AudioCaps or WavCaps."""

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.audio.data.wavcaps import read_wavcaps
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    if params.dataset == "audiocaps":
        tables = read_audiocaps(params.folder, params.audio)
    else:
        tables = read_wavcaps(params.folder, params.parts, params.audio)
    write_csv(tables.clips, snakemake.output.clips)
    write_csv(tables.captions, snakemake.output.captions)
