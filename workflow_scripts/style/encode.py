"""Turn stylised frames into H.264 with the source's sound, read it back, measure its flicker."""

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.video.flicker import flicker
from triptych.style.video.transfer import encode, properties, write_strip

with job(snakemake):
    source, frames, output = snakemake.input.source, snakemake.input.frames, snakemake.output
    params = snakemake.params
    encode(frames, snakemake.input.times, source, output.video, crf=params.crf)
    table = properties({"source": source, "frames": frames, "video": output.video})
    write_csv(table, output.properties)
    write_strip(output.strip, source, frames, count=params.strip)
    moved = flicker(source, frames)
    moved.insert(0, "variant", params.variant)
    moved.insert(0, "painting", params.painting)
    write_csv(moved, output.flicker)
