"""Write new captions for the captions of a data set, by a language model or from a file."""

from triptych.audio.captions.stage import write_captions
from triptych.core.job import job
from triptych.core.stopping import StopRequest, scheduler_limit

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    request = StopRequest(scheduler_limit(snakemake.resources.get("runtime")))
    write_captions(
        files.clips,
        files.captions,
        params.captions,
        params.splits,
        dict(output.items()),
        published=params.published,
        stop=lambda: request.reason,
    )
