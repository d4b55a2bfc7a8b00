"""Tables beyond the paper: every system on every question, and the recordings."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from triptych.audio.report.labels import DATASET_LABELS
from triptych.audio.report.rows import (
    AudioStudy,
    by_metric,
    first_seeds,
    in_order,
    of_study,
    records,
    system_label,
    with_interval,
)
from triptych.report.palette import label
from triptych.report.tables import DASH, Table, number, with_cells

MEASURES: Mapping[str, tuple[str, str]] = {
    "single": ("one right clip", "mAP@10"),
    "multiple_10": ("all right clips", "mAP@10"),
    "multiple_16": ("all right clips", "mAP@16"),
    "seen": ("combinations of events", "seen, mAP@10"),
    "unseen": ("combinations of events", "unseen, mAP@10"),
    "order": ("order", "accuracy"),
}
"""What is asked of every system: the headings of its column."""

SOURCE_LABELS = {
    "synthesised": "synthesised here",
    "download": "downloaded",
    "youtube": "fetched from YouTube",
    "mp3": "an MP3 copy, downloaded",
    "path": "a folder of the user",
}


def beyond_long(metrics: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """Every system of the evaluation split on every question of MEASURES, in percent.

    One run of each system (the first seed). metrics: rows of metrics.csv. What the data do not
    ask (no labels of several right clips, no held-out combinations) has no rows.
    """
    rows = of_study(metrics, study)
    rows["measure"] = [_measure(row) for row in records(rows)]
    rows = first_seeds(in_order(rows[rows["measure"] != ""], study), study)
    frame = pd.DataFrame(
        {
            "kind": rows["kind"],
            "label": [system_label(row, study) for row in records(rows)],
            **{key: rows[key] for key in ("audio_model", "text_model", "captions", "seed")},
            "system": rows["system"],
            "measure": rows["measure"],
            **{name: 100 * rows[name] for name in ("value", "low", "high")},
            **{name: rows[name] for name in ("queries", "clips")},
            "data": study.data(),
        }
    )
    return with_cells(frame.reset_index(drop=True), unit="percent", scale=scale)


def _measure(row: Mapping[str, object]) -> str:
    metric, subset, relevance = row["metric"], row["subset"], row["relevance"]
    if metric == "order_accuracy":
        return "order"
    if subset == "all" and relevance == "multiple":
        return {"map_at_10": "multiple_10", "map_at_16": "multiple_16"}.get(str(metric), "")
    if metric == "map_at_10" and relevance == "single":
        return {"all": "single", "seen": "seen", "unseen": "unseen"}.get(str(subset), "")
    return ""


def beyond_table(long: pd.DataFrame) -> Table:
    """Lay out `beyond_long`: a row a system, a column a question that the data ask."""
    measures = [name for name in MEASURES if (long["measure"] == name).any()]
    rows = []
    for name, cells in long.groupby("label", sort=False):
        found = by_metric(cells, "measure")
        shown = (found.get(measure) for measure in measures)
        rows.append(
            (str(name), *(DASH if cell is None else with_interval(cell, 1) for cell in shown))
        )
    queries = long.drop_duplicates("measure").set_index("measure")["queries"]
    counted = ", ".join(
        f"{group} ({header}) {queries[name]:,.0f}"
        for name, (group, header) in MEASURES.items()
        if name in queries and pd.notna(queries[name])
    )
    return Table(
        name="audio_beyond_table",
        title="Beyond the paper: every system on every question.",
        caption=(
            f"{str(long['data'].iloc[0]).capitalize()}, evaluation split, percent, 95% bootstrap "
            f"intervals over recordings. Queries: {counted}."
        ),
        columns=(("", "System"), *(MEASURES[name] for name in measures)),
        rows=tuple(rows),
    )


def datasets_table(clips: pd.DataFrame, study: AudioStudy) -> Table:
    """Clips and hours of every data set and part. clips: rows of every clips.csv."""
    rows = []
    for key, part in clips.groupby(["dataset", "split"], sort=False):
        assert isinstance(key, tuple)
        dataset, split = map(str, key)
        seconds = part["seconds"].dropna()
        lengths = DASH
        if len(seconds):
            low, high = seconds.min(), seconds.max()
            lengths = f"{low:.3g} to {high:.3g} s" if low < high else f"{low:.3g} s"
        source = study.sources.get(dataset, "")
        rows.append(
            (
                label(DATASET_LABELS, dataset),
                split.replace("_", " "),
                label(SOURCE_LABELS, source) if source else DASH,
                f"{len(part):,}",
                number(seconds.sum() / 3600 if len(seconds) else np.nan, 2),
                lengths,
            )
        )
    headers = ("Data set", "Part", "Source", "Clips", "Hours", "Lengths")
    return Table(
        name="audio_datasets",
        title="Recordings.",
        caption="As listed, before anything was excluded; hours of clips whose length is listed.",
        columns=tuple(("", header) for header in headers),
        rows=tuple(rows),
        keys=3,
    )
