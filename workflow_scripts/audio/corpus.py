"""Decide which clips a corpus trains on, and record why it leaves out the others."""

import logging

import pandas as pd

from triptych.audio.data.ledger import exclude, prove_no_leak, read_leak_lists, unreadable_clips
from triptych.audio.data.tables import read_table
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    clips = pd.concat([read_table(path) for path in files.clips], ignore_index=True)
    strict = params.exclude == "strict"
    leaks = read_leak_lists(params.leaks) if strict else None
    ledger = exclude(clips, params.splits, leaks, unreadable_clips(files.shards))
    if strict:
        prove_no_leak(ledger.manifest, clips, params.splits)
    write_csv(ledger.manifest, output.manifest)
    write_csv(ledger.removed, output.removed)
    write_csv(ledger.counts, output.counts)
    logging.getLogger(__name__).info("\n%s", ledger.counts.to_string(index=False))
