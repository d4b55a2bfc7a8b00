"""Beyond the paper: published checkpoints, scored here.

In float32, beside what their authors print. Intervals are over recordings with all their captions:
a difference between two runs of one model comes from resampling, precision and how long captions
are cut, and is expected to be far smaller.
"""

import pandas as pd

from triptych.audio.data.tables import read_table
from triptych.audio.report.rows import CLOTHO_EVALUATION, METRICS, records
from triptych.audio.scoring.published import score_models
from triptych.core.job import job
from triptych.report.statistics import Interval
from triptych.report.tables import Table, number, plain, with_cells, write_table

PRINTED = {"dcase2025": "DCASE 2025 baseline", "salsa": "Salsa (DCASE 2024)"}
"""Published checkpoints by their names in resources/published/audio_table2.csv."""


def numbers(metrics: pd.DataFrame, published: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """One row a checkpoint and measure, in percent.

    metrics: of `scoring.published.score_models`; published: of audio_table2.csv.
    """
    rows = metrics[metrics["subset"] == "all"].drop(columns=["split", "subset"])
    rows[["value", "low", "high"]] *= 100
    printed = published.set_index("audio_model")
    rows["published"] = [
        printed.loc[PRINTED[name], metric]
        for name, metric in zip(rows["checkpoint"], rows["metric"], strict=True)
    ]
    return with_cells(rows, unit="percent", scale=scale)


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """Published, ours with its interval and the difference, a row a checkpoint and measure."""
    clips = f"{long['clips'].min()} clips of Clotho's evaluation split, of"
    return Table(
        name="audio_published",
        title=title,
        caption=f"Each model on {clips} {CLOTHO_EVALUATION['clips']}. {caption}",
        columns=plain("Checkpoint", "Measure", "published", "here", "95%", "difference"),
        rows=[
            (
                PRINTED[row["checkpoint"]],
                METRICS[row["metric"]],
                number(row["published"], 2),
                number(row["value"], 2),
                Interval(row["value"], row["low"], row["high"]).ends(),
                number(row["difference"], 2),
            )
            for row in records(long)
        ],
        keys=2,
    )


if __name__ == "__main__":
    with job(snakemake):
        files, params = snakemake.input, snakemake.params
        metrics = score_models(
            dict(zip(params.names, files.models, strict=True)),
            clips=read_table(files.clips),
            captions=read_table(files.captions),
            shards=files.shards,
            longest_seconds=params.longest_seconds,
            device=params.device,
        )
        long = numbers(metrics, pd.read_csv(files.published), scale=params.scale)
        write_table(long, table(long, params.title, params.caption), snakemake.output)
