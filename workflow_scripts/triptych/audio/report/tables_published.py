"""The table of published checkpoints: what they score here beside what their authors print."""

import pandas as pd

from triptych.audio.report.rows import CLOTHO_EVALUATION, METRICS, headers
from triptych.report.tables import Table, number, with_cells

PRINTED = {"dcase2025": "DCASE 2025 baseline", "salsa": "Salsa (DCASE 2024)"}
"""Their names in resources/published/audio_table2.csv."""


def published_long(metrics: pd.DataFrame, published: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """One row a checkpoint and measure, in percent.

    metrics: of `scoring.published.score_models`; published: of audio_table2.csv.
    """
    rows = metrics[metrics["subset"] == "all"].drop(columns=["split", "subset"])
    for column in ("value", "low", "high"):
        rows[column] = 100 * rows[column]
    printed = published.set_index("audio_model")
    rows["published"] = [
        float(printed.loc[PRINTED[name], metric])
        for name, metric in zip(rows["checkpoint"], rows["metric"], strict=True)
    ]
    return with_cells(rows, unit="percent", scale=scale)


def published_table(long: pd.DataFrame) -> Table:
    """Lay out `published_long`."""
    clips = int(long["clips"].min())
    whole = "" if clips == CLOTHO_EVALUATION["clips"] else f" Only {clips} clips could be read."
    return Table(
        name="audio_published",
        title="Published checkpoints, scored here.",
        caption=(
            "Each model on Clotho's evaluation split, in float32, beside what its authors print. "
            "Intervals are over recordings with all their captions: a difference between two runs "
            "of one model comes from resampling, precision and how long captions are cut, and is "
            f"expected to be far smaller.{whole}"
        ),
        columns=headers("Checkpoint", "Measure", "published", "here", "95%", "difference"),
        rows=tuple(
            (
                PRINTED[str(row["checkpoint"])],
                METRICS[row["metric"]],
                number(row["published"], 2),
                number(row["value"], 2),
                f"[{number(row['low'], 2)}, {number(row['high'], 2)}]",
                number(row["difference"], 2),
            )
            for row in long.to_dict("records")
        ),
        keys=2,
    )
