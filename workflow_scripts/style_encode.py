"""Turn stylised frames into H.264 with the source's sound, and read back what was written."""

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.video.measures import properties, write_strip
from triptych.style.video.transfer import encode

with job(snakemake):
    source, frames, output = snakemake.input.source, snakemake.input.frames, snakemake.output
    encode(frames, snakemake.input.times, source, output.video, crf=snakemake.params.crf)
    table = properties({"source": source, "frames": frames, "video": output.video})
    write_csv(table, output.properties)
    write_strip(output.strip, source, frames, count=snakemake.params.strip)
