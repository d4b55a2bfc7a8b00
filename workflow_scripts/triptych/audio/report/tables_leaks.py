"""Results with and without leaks, and the ledger of clips removed from training."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from triptych.audio.report.labels import DATASET_LABELS
from triptych.audio.report.rows import (
    METRICS,
    AudioStudy,
    by_metric,
    headers,
    read_rows,
    records,
    with_interval,
)
from triptych.report.palette import label
from triptych.report.statistics import Interval, ratio_interval
from triptych.report.tables import DASH, Table, number, with_cells

RESULT, COUNT = "result", "count"
COUNTS = {
    "listed": "Listed",
    "unreadable": "Unreadable",
    "excluded": "Excluded",
    "train": "Trained on",
    "leaked": "Leaked",
}
DIFFERENCE, DIFFERENCE_LEAKED = "difference", "difference_leaked"


def read_corpora(paths: Sequence[str | Path]) -> pd.DataFrame:
    """CSV files in folders named by their corpus, as one frame with the column `corpus`."""
    frames = [read_rows(path).assign(corpus=Path(path).parent.name) for path in paths]
    return pd.concat(frames, ignore_index=True)


VALUES: Mapping[str, Callable[[pd.Series], pd.Series]] = {
    "map_at_10": lambda rank: (1 / rank).where(rank <= 10, 0.0),
    "r_at_1": lambda rank: (rank <= 1).astype(float),
    "r_at_5": lambda rank: (rank <= 5).astype(float),
    "r_at_10": lambda rank: (rank <= 10).astype(float),
}
"""Each metric of METRICS as one value a query."""


def mean_over_clips(values: pd.Series) -> Interval:
    """Mean over queries, indexed by (clip, query), with its 95% interval over clips."""
    by_clip = values.groupby(level="clip")
    # A mean over queries is a ratio of sums over clips, however many captions a clip has.
    return ratio_interval(by_clip.sum().to_numpy(), by_clip.size().to_numpy())


def interval_cell(metric: str, gap: pd.Series) -> dict[str, object]:
    """A metric's mean difference over queries, as `mean_over_clips` has it, and of how many."""
    interval = mean_over_clips(gap)
    return {
        "metric": metric,
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "queries": len(gap),
        "clips": gap.index.get_level_values("clip").nunique(),
    }


def leaks_long(
    metrics: pd.DataFrame,
    queries: pd.DataFrame,
    removed: pd.DataFrame,
    counts: pd.DataFrame,
    clips: pd.DataFrame,
    study: AudioStudy,
    *,
    exclusions: Mapping[str, str],
    scale: str,
) -> pd.DataFrame:
    """Results with and without leaks, then the ledger; one row a cell.

    removed, counts: of every corpus, by `read_corpora`; exclusions: by corpus. `part` says what a
    row is: `result` in percent (of the main pair, pretrained; differences over all clips and over
    those that only the leaky corpus trains on) or `count` of clips by corpus.
    """
    parts = [
        with_cells(_results(metrics, queries, removed, clips, study), unit="percent", scale=scale),
        with_cells(_counts(counts), unit="clips", scale=scale),
    ]
    parts[0].loc[parts[0]["row"].str.startswith(DIFFERENCE), "unit"] = "percentage points"
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    return frame.assign(exclude=frame["corpus"].map(dict(exclusions)))


def _results(
    metrics: pd.DataFrame,
    queries: pd.DataFrame,
    removed: pd.DataFrame,
    clips: pd.DataFrame,
    study: AudioStudy,
) -> pd.DataFrame:
    shared = (metrics["split"] == "evaluation") & (metrics["subset"] == "all")
    shared &= (metrics["relevance"] == "single") & metrics["metric"].isin(list(METRICS))
    scored = metrics[shared]
    models = [(c, _pretrained(scored, study, c)) for c in (study.leaky, study.evaluated)]
    rows = [
        {"row": name, "corpus": corpus, "metric": row["metric"]}
        | {end: 100 * row[end] for end in ("value", "low", "high")}
        | {"queries": row["queries"], "clips": row["clips"]}
        for name, parts in (("run", models), ("chance", [("", scored["audio_model"] == "chance")]))
        for corpus, chosen in parts
        for row in records(scored[chosen])
    ]
    evaluation_queries = queries[queries["split"] == "evaluation"].set_index(["clip", "query"])
    leaky, clean = (
        evaluation_queries[_pretrained(evaluation_queries, study, corpus)]["rank"]
        for corpus in (study.leaky, study.evaluated)
    )
    shared_queries = leaky.index.intersection(clean.index)
    leaked = leaked_clips(removed, clips, study)
    of_leaked = shared_queries[shared_queries.get_level_values("clip").isin(leaked)]
    for name, chosen in ((DIFFERENCE, shared_queries), (DIFFERENCE_LEAKED, of_leaked)):
        for metric, value in VALUES.items() if len(chosen) else ():
            gap = 100 * (value(leaky[chosen]) - value(clean[chosen]))
            rows.append({"row": name, "corpus": "", **interval_cell(metric, gap)})
    return pd.DataFrame(rows).assign(part=RESULT)


def _pretrained(frame: pd.DataFrame, study: AudioStudy, corpus: str) -> pd.Series:
    audio, text = study.main
    return (
        (frame["stage"] == "pretrained")
        & (frame["audio_model"] == audio)
        & (frame["text_model"] == text)
        & (frame["corpus"] == corpus)
    )


def leaked_clips(removed: pd.DataFrame, clips: pd.DataFrame, study: AudioStudy) -> list[str]:
    """Evaluation clips whose recording the evaluated corpus removed from training."""
    ours = removed[(removed["corpus"] == study.evaluated) & (removed["sound_id"] != "")]
    evaluation = clips[(clips["split"] == "evaluation") & clips["sound_id"].isin(ours["sound_id"])]
    return sorted(evaluation["clip"])


def _counts(counts: pd.DataFrame) -> pd.DataFrame:
    keys = ["corpus", "dataset", "split"]
    return counts.melt(keys, list(COUNTS), "metric", "value").assign(part=COUNT, row="")


def leaks_tables(long: pd.DataFrame) -> list[Table]:
    """Lay out `leaks_long`: the results, and the counts by corpus."""
    text = ("row", "corpus", "dataset", "split", "exclude")
    known = {key: "" for key in text if key in long}
    frame = long.astype({key: object for key in known}).fillna(known)
    return [
        _results_table(frame[frame["part"] == RESULT]),
        _counts_table(frame[frame["part"] == COUNT]),
    ]


def _results_table(results: pd.DataFrame) -> Table:
    rows = []
    for key, cells in results.groupby(["row", "corpus"], sort=False):
        assert isinstance(key, tuple)
        row, corpus = map(str, key)
        exclude = str(cells["exclude"].iloc[0])
        clips = int(cells["clips"].max())
        name = {
            "run": f"{'With' if exclude == 'none' else 'Without'} leaks: corpus {corpus}, "
            f"exclude {exclude}",
            "chance": "Chance",
            DIFFERENCE: "With minus without, in points",
            DIFFERENCE_LEAKED: f"Same difference, over the {clips} leaked clips",
        }[row]
        by_name = by_metric(cells)
        values = (with_interval(by_name[m]) if m in by_name else DASH for m in METRICS)
        rows.append((name, *values))
    compared = (results["row"] == DIFFERENCE).any()
    return Table(
        name="audio_leaks",
        title="With and without leaks.",
        caption=(
            "The main pair after pretraining, on the evaluation split, in percent, with 95% "
            "bootstrap intervals over recordings. "
            + (
                "Differences are paired by query. Leaked clips are those of the evaluation split "
                "whose own recording the leaky corpus trains on under another caption."
                if compared
                else "No corpus with leaks was trained on, so that there is nothing to compare."
            )
        ),
        columns=headers("Pretraining", *METRICS.values()),
        rows=tuple(rows),
    )


def _counts_table(counts: pd.DataFrame) -> Table:
    corpora = list(dict.fromkeys(counts["corpus"]))
    columns = list(headers("Data set", "Part", "Listed", "Unreadable"))
    excluded = counts.drop_duplicates("corpus").set_index("corpus")["exclude"]
    for corpus in corpora:
        group = f"{corpus} ({excluded[corpus] or DASH})"
        columns += [(group, COUNTS[name]) for name in ("excluded", "train", "leaked")]
    rows = []
    totals = np.zeros(len(columns) - 2)
    for key, cells in counts.groupby(["dataset", "split"], sort=False):
        assert isinstance(key, tuple)
        value = cells.set_index(["corpus", "metric"])["value"]
        line = [value.xs(name, level="metric").max() for name in ("listed", "unreadable")]
        for corpus in corpora:
            line += [value.get((corpus, name), np.nan) for name in ("excluded", "train", "leaked")]
        totals += np.nan_to_num(np.asarray(line, dtype=float))
        named = (label(DATASET_LABELS, str(key[0])), str(key[1]).replace("_", " "))
        rows.append((*named, *(number(cell, 0) for cell in line)))
    rows.append(("all", "", *(number(total, 0) for total in totals)))
    return Table(
        name="audio_leaks_ledger",
        title="What each corpus trains on.",
        caption=(
            "Clips; beside the name of a corpus its rule of exclusion. Leaked: trained on although "
            "it is a recording of a split that models are judged by. Splits of Clotho that a "
            "corpus doesn't train on are neither excluded nor trained on. Each removed clip with "
            "its reasons stands in results/audio/corpora/*/removed.csv."
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        keys=2,
    )
