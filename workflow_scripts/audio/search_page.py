"""results/search.html: queries of the test split, what the model finds, to be seen and heard."""

from pathlib import Path

from triptych.audio.data.shards import ClipStore
from triptych.audio.data.tables import read_table
from triptych.audio.embedding_files import read_embeddings
from triptych.audio.search.page import search_page
from triptych.core.files import atomic_path
from triptych.core.job import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    split = read_embeddings(Path(params.run["folder"]) / "embeddings.npz")["evaluation"]
    html = search_page(
        split,
        read_table(files.clips),
        read_table(files.captions),
        ClipStore([files.shards]),
        queries=params.settings["queries"],
        run=params.run,
        scale=params.scale,
    )
    with atomic_path(snakemake.output[0]) as temporary:
        temporary.write_text(html, encoding="utf-8")
