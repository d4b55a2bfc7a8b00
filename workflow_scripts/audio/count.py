"""Count the recordings and captions that a data set's tables list, beside the published numbers."""

import sys

import pandas as pd

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.audio.data.clotho import CHALLENGE, read_clotho
from triptych.audio.data.wavcaps import read_wavcaps
from triptych.audio.data_sizes import compare_counts
from triptych.core.files import write_csv
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    if params.dataset == "clotho":
        tables = read_clotho(params.folder, splits=params.splits)
        # A folder of one's own may be without the challenge's clips.
        parts = [part for part in params.splits if part != CHALLENGE or len(tables.queries)]
    elif params.dataset == "audiocaps":
        tables, parts = read_audiocaps(params.folder), ["all"]
    else:
        tables, parts = read_wavcaps(params.folder, params.parts), params.parts
    # A clip's name is its data set, split and file; the challenge's captions belong to no clip.
    captions = [clip.split("/")[1] for clip in tables.captions["clip"]]
    captions += [CHALLENGE] * len(tables.queries)
    counts = compare_counts(params.dataset, parts, tables.clips["split"], captions)
    write_csv(pd.DataFrame(counts), snakemake.output[0])
    for row in counts:
        print("{part}: {recordings:,} recordings, {captions:,} captions".format(**row))
        if row["problem"]:
            print(f"{params.dataset}, {row['part']}: {row['problem']}", file=sys.stderr)
