"""Turn stylised frames into H.264 with the source's sound, read it back, measure its flicker."""

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.video.flicker import flicker
from triptych.style.video.transfer import encode, properties

with job(snakemake):
    source, frames, output = snakemake.input.source, snakemake.input.frames, snakemake.output
    params, network = snakemake.params, dict(snakemake.wildcards.items())
    encode(frames, snakemake.input.times, source, output.video, crf=params.crf)
    table = properties({"source": source, "frames": frames, "video": output.video})
    write_csv(table.assign(**network), output.properties)
    write_csv(flicker(source, frames).assign(**network), output.flicker)
