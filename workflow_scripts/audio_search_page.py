"""results/search.html: queries of the test split, what the model finds, to be seen and heard."""

from functools import partial
from pathlib import Path

import pandas as pd

from triptych.audio.data.shards import ClipStore
from triptych.audio.embedding_files import read_embeddings
from triptych.audio.search.page import search_page
from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.report.page import TEMPLATES

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    read = partial(pd.read_csv, dtype=str, keep_default_na=False)
    split = read_embeddings(Path(params.run["folder"]) / "embeddings.npz")["evaluation"]
    html = search_page(
        split,
        read(given.clips),
        read(given.captions),
        ClipStore([given.shards]),
        queries=params.settings["queries"],
        style=(TEMPLATES / "style.css").read_text(encoding="utf-8"),
        run=params.run,
        scale=params.scale,
    )
    with atomic_path(snakemake.output[0]) as temporary:
        temporary.write_text(html, encoding="utf-8")
