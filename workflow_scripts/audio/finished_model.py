"""Fetch a finished retrieval model, say its licence, and convert it to a folder of ours."""

import logging

from triptych.audio.models.finished import terms, write_finished
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    logging.getLogger(__name__).info("%s", terms(params.source))
    write_finished(snakemake.output[0], params.source, params.text_models, params.lock)
