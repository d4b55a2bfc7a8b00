"""Beyond the paper: with and without leaks.

The main pair after pretraining, on the evaluation split, in percent, with 95% bootstrap intervals
over recordings. Differences need a corpus with leaks and are paired by query. Leaked clips are
those of the evaluation split whose own recording the leaky corpus trains on under another caption.
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pandas as pd

from triptych.audio.report.rows import (
    DATASET_LABELS,
    METRICS,
    NUMBERS,
    AudioStudy,
    evaluation_rows,
    gaps,
    interval_cells,
    interval_texts,
    of_pair,
    read_rows,
)
from triptych.audio.scoring.scores import score_runs
from triptych.core.job import job
from triptych.report.tables import Table, number, with_cells, write_table

RESULT, COUNT = "result", "count"
OF_DATASETS = {"listed": "Listed", "unreadable": "Unreadable"}
OF_CORPORA = {"excluded": "Excluded", "train": "Trained on", "leaked": "Leaked"}
"""Columns of counts.csv that are alike for all corpora, and the others."""
DIFFERENCE, DIFFERENCE_LEAKED = "difference", "difference_leaked"


def numbers(
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

    removed, counts: of every corpus, with its name as `corpus`; exclusions: by corpus. `part` says
    what a row is: `result` in percent (of the main pair, pretrained; differences over all clips and
    over those that only the leaky corpus trains on) or `count` of clips by corpus.
    """
    ours = removed[(removed["corpus"] == study.evaluated) & (removed["sound_id"] != "")]
    # Evaluation clips whose recording the evaluated corpus removed from training.
    leaked = clips.loc[clips["sound_id"].isin(ours["sound_id"]), "clip"]
    results = pd.concat([_scores(metrics, study), _differences(queries, leaked, study)])
    keys = ["corpus", "dataset", "split"]
    clips_listed = counts.melt(keys, [*OF_DATASETS, *OF_CORPORA], "metric", "value")
    results = with_cells(results.assign(part=RESULT), unit="percent", scale=scale)
    results.loc[results["row"].str.startswith(DIFFERENCE), "unit"] = "percentage points"
    counted = with_cells(clips_listed.assign(part=COUNT, row=""), unit="clips", scale=scale)
    frame = pd.concat([results, counted], ignore_index=True)
    return frame.assign(exclude=frame["corpus"].map(dict(exclusions)))


def _scores(metrics: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """Scores in percent of the main pair, pretrained with and without leaks, and chance."""
    corpora = [corpus for corpus in (study.leaky, study.evaluated) if corpus]
    rows = evaluation_rows(metrics[metrics["subset"] == "all"], [*corpora, ""])
    main = of_pair(rows, study.main, "pretrained").assign(row="run")
    parts = [main[main["corpus"] == corpus] for corpus in corpora]
    cells = pd.concat([*parts, rows[rows["kind"] == "chance"].assign(row="chance")])
    cells[["value", "low", "high"]] *= 100
    return cells[["row", "corpus", "metric", *NUMBERS]]


def _differences(queries: pd.DataFrame, leaked: pd.Series, study: AudioStudy) -> pd.DataFrame:
    """Gains of the main pair by leaks, over all clips and over the leaked ones."""
    rows = of_pair(
        evaluation_rows(queries, [study.leaky, study.evaluated]), study.main, "pretrained"
    )
    difference = gaps(rows, study.leaky, study.evaluated)
    of_leaked = difference[difference.index.get_level_values("clip").isin(leaked)]
    parts = {DIFFERENCE: difference, DIFFERENCE_LEAKED: of_leaked}
    cells = [interval_cells(part).assign(row=name) for name, part in parts.items() if len(part)]
    return pd.concat([pd.DataFrame(), *cells]).assign(corpus="")


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """Results of the main pair by corpus, and their differences."""
    results = long[long["part"] == RESULT]
    leaked = results[results["row"] == DIFFERENCE_LEAKED]
    names = {
        "chance": "Chance",
        DIFFERENCE: "With minus without, in points",
        DIFFERENCE_LEAKED: f"Same difference, over the {leaked['clips'].max():.0f} leaked clips",
    }
    has = results["exclude"].map({"none": "With"}).fillna("Without")
    runs = has + " leaks: corpus " + results["corpus"] + ", exclude " + results["exclude"]
    cells = results.assign(
        name=results["row"].map(names).fillna(runs),
        group="",
        header=results["metric"].map(METRICS),
        cell=interval_texts(results),
    )
    return Table.spread(
        cells,
        {"name": "Pretraining"},
        name="audio_leaks",
        title=title,
        caption=caption,
    )


def ledger(long: pd.DataFrame) -> Table:
    """Clips listed, excluded and trained on, by corpus."""
    counts = long[long["part"] == COUNT]
    of_corpora = counts["metric"].isin(OF_CORPORA)
    group = (counts["corpus"] + " (" + counts["exclude"] + ")").where(of_corpora, "")
    names = {
        "dataset": counts["dataset"].replace(DATASET_LABELS),
        "part": counts["split"].str.replace("_", " "),
    }
    cells = counts.assign(**names, group=group)
    cells = cells.drop_duplicates([*names, "group", "metric"])
    total = cells.groupby(["group", "metric"], as_index=False)["value"].sum()
    cells = pd.concat([cells, total.assign(dataset="all", part="")])
    cells["header"] = cells["metric"].map(OF_DATASETS | OF_CORPORA)
    cells["cell"] = [number(value, 0) for value in cells["value"]]
    shared = product([""], OF_DATASETS.values())
    others = product(dict.fromkeys(group[of_corpora]), OF_CORPORA.values())
    return Table.spread(
        cells,
        {"dataset": "Data set", "part": "Part"},
        [*shared, *others],
        name="audio_leaks_ledger",
        title="What each corpus trains on.",
        caption=(
            "Clips; beside the name of a corpus its rule of exclusion. Leaked: trained on although "
            "it is a recording of a split that models are judged by. Splits of Clotho that a "
            "corpus doesn't train on are neither excluded nor trained on. Each removed clip with "
            "its reasons stands in results/audio/corpora/*/removed.csv."
        ),
    )


if __name__ == "__main__":
    with job(snakemake):
        files, params = snakemake.input, snakemake.params
        clips = read_rows(files.clips)
        removed, counts = (
            pd.concat(read_rows(path).assign(corpus=Path(path).parent.name) for path in paths)
            for paths in (files.removed, files.counts)
        )
        scores = score_runs(params.runs, members=[], clips=clips)
        long = numbers(
            scores.metrics,
            scores.queries,
            removed,
            counts,
            clips,
            AudioStudy.read(**params.study),
            exclusions=params.exclusions,
            scale=params.scale,
        )
        tables = [table(long, params.title, params.caption), ledger(long)]
        write_table(long, tables, snakemake.output)
