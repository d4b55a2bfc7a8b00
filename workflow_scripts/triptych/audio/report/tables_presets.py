"""Table 2 of two presets: what training as the paper did changes, system by system."""

import pandas as pd

from triptych.audio.report.rows import (
    KEYS,
    METRICS,
    AudioStudy,
    by_metric,
    in_order,
    of_corpora,
    records,
    system_label,
    with_interval,
)
from triptych.audio.report.tables_leaks import VALUES, mean_over_clips
from triptych.report.tables import DASH, Table

DIFFERENCE, MEAN = "difference", "mean"
"""The block of these rows in Table 2's long form, and the system that is the mean of all."""
_SYSTEM = [key for key in KEYS if key != "corpus"]


def preset_differences(queries: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """The replicated corpus' systems minus the evaluated one's, in percentage points.

    queries: rows of queries.csv. A row a system that was run with both and a metric, with its
    interval over clips, paired by query; at the end the mean over the systems (system `mean`).
    No rows where the study replicates no corpus.
    """
    if not study.replicated:
        return pd.DataFrame()
    rows = in_order(of_corpora(queries, [study.evaluated, study.replicated]), study)
    ranks = {
        tuple(map(str, key)): part.set_index(["clip", "query"])["rank"]
        for key, part in rows.groupby([*_SYSTEM, "corpus"], sort=False)
    }
    both = [key[:-1] for key in ranks if key[-1] == study.evaluated]
    both = [key for key in both if (*key, study.replicated) in ranks]
    cells = []
    for metric, value in VALUES.items():
        gaps = []
        for system in both:
            one, other = (ranks[*system, c] for c in (study.replicated, study.evaluated))
            shared = one.index.intersection(other.index)
            gaps.append(100 * (value(one[shared]) - value(other[shared])))
            cells.append({**dict(zip(_SYSTEM, system, strict=True)), **_cell(metric, gaps[-1])})
        if gaps:
            mean = pd.concat(gaps, axis=1).dropna().mean(axis=1)
            cells.append({**dict.fromkeys(_SYSTEM, ""), "system": MEAN, **_cell(metric, mean)})
    frame = pd.DataFrame(cells)
    if frame.empty:
        return frame
    kinds = rows.drop_duplicates(_SYSTEM).set_index(_SYSTEM)["kind"].to_dict()
    frame["kind"] = [kinds.get(tuple(row), MEAN) for row in frame[_SYSTEM].to_numpy()]
    frame["label"] = [
        f"mean of the {len(both)}" if row["system"] == MEAN else system_label(row, study)
        for row in records(frame)
    ]
    return frame.assign(corpus=f"{study.replicated} minus {study.evaluated}")


def _cell(metric: str, gap: pd.Series) -> dict[str, object]:
    interval = mean_over_clips(gap)
    return {
        "metric": metric,
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "queries": len(gap),
        "clips": gap.index.get_level_values("clip").nunique(),
    }


def differences_table(differences: pd.DataFrame) -> Table:
    """Lay out `preset_differences`: a row a system, the mean last."""
    rows = []
    for label, cells in differences.groupby("label", sort=False):
        found = by_metric(cells)
        shown = [found.get(metric) for metric in METRICS]
        line = (DASH if cell is None else with_interval(cell) for cell in shown)
        rows.append((str(label), *line))
    corpora = str(differences["corpus"].iloc[0])
    return Table(
        name="audio_presets",
        title=f"Table 2, {corpora}.",
        caption=(
            "Percentage points with 95% intervals over recordings, paired by query: the same "
            "models, trained as the paper did and without what leaks. A preset changes several "
            "things at once (docs/audio-data.md); the table of leaks takes one of them alone. "
            "One run each, so that a difference holds the chance of a training too."
        ),
        columns=(("", "System"), *(("", header) for header in METRICS.values())),
        rows=tuple(rows),
    )
