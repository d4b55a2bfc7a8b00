"""List AudioCaps' clips and captions."""

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    tables = read_audiocaps(snakemake.params.folder, snakemake.params.audio)
    write_csv(tables.clips, snakemake.output.clips)
    write_csv(tables.captions, snakemake.output.captions)
