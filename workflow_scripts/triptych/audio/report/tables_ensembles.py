"""Whether any other ensemble is better: every subset of the members, and the members with more."""

import pandas as pd

from triptych.audio.report.rows import AudioStudy, records, with_interval
from triptych.report.tables import Table, number, with_cells

BEST = 10
"""Ensembles that are shown, the best first, beside the listed one and its neighbours."""


def ensembles_long(subsets: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """Every ensemble by corpus, best first: mAP@10 in percent, differences in points.

    subsets: rows of subsets.csv. `changed` says what an ensemble has otherwise than the listed one.
    """
    order = {corpus: place for place, corpus in enumerate((study.evaluated, study.replicated))}
    rows = subsets[subsets["corpus"].isin(list(order))].copy()
    rows["order"] = rows["corpus"].map(order)
    rows = rows.sort_values(["order", "place"], kind="stable")
    listed = {row["corpus"]: _pairs(row) for row in records(rows) if _as_listed(row)}
    changed = [_changed(row, listed[row["corpus"]], study) for row in records(rows)]
    frame = pd.DataFrame(
        {
            **{name: rows[name] for name in ("corpus", "place", "models", "removed", "added")},
            "changed": changed,
            "members": rows["members"],
            "value": 100 * rows["map_at_10"],
            **{name: 100 * rows[name] for name in ("low", "high")},
            **{
                f"points_{name}": 100 * rows[column]
                for name, column in (
                    ("value", "difference"),
                    ("low", "difference_low"),
                    ("high", "difference_high"),
                )
            },
            "validation": 100 * rows["validation_map_at_10"],
            "data": study.data(),
        }
    )
    return with_cells(frame.reset_index(drop=True), unit="percent", scale=scale)


def _as_listed(row: dict[str, object]) -> bool:
    return row["removed"] == 0 and row["added"] == 0


def _pairs(row: dict[str, object]) -> list[str]:
    return [member.split("/")[0] for member in str(row["members"]).split()]


def _changed(row: dict[str, object], listed: list[str], study: AudioStudy) -> str:
    own = _pairs(row)

    def names(pairs: list[str]) -> str:
        return ", ".join(study.pair_label(*pair.split("-")) for pair in pairs)

    more = [pair for pair in own if pair not in listed]
    fewer = [pair for pair in listed if pair not in own]
    if more:
        return f"with {names(more)}"
    if len(own) < len(fewer):
        return f"only {names(own)}"
    return f"without {names(fewer)}" if fewer else "as listed"


def ensembles_tables(long: pd.DataFrame) -> list[Table]:
    """Lay out `ensembles_long`: of each corpus the best, the listed one and its neighbours."""
    parts = long.groupby("corpus", sort=False)
    names = ["audio_ensembles", "audio_ensembles_replicated"]
    return [
        _table(name, str(corpus), part) for name, (corpus, part) in zip(names, parts, strict=False)
    ]


def _table(name: str, corpus: str, long: pd.DataFrame) -> Table:
    others = long[(long["removed"] > 0) | (long["added"] > 0)]
    near = (long["removed"] + long["added"]) <= 1
    chosen = long["validation"] == long["validation"].max()
    shown = long[near | chosen | (long["place"] <= BEST)]
    rows = tuple(
        (
            f"{row['place']:.0f}",
            f"{row['models']:.0f}",
            str(row["changed"]),
            with_interval(row),
            _points(row),
            number(row["validation"], 2),
        )
        for row in records(shown)
    )
    place = long.loc[~long.index.isin(others.index), "place"].iloc[0]
    worse = int((others["points_high"] < 0).sum())
    better = int((others["points_low"] > 0).sum())
    return Table(
        name=name,
        title=f"Every other ensemble, corpus {corpus}: {long['data'].iloc[0]}, "
        f"{long['scale'].iloc[0]} scale.",
        caption=(
            f"All {len(long):,} sets: each subset of the listed members, and all of them with each "
            f"set of the other pairs. The listed one is in place {place:.0f}. mAP@10 on the "
            "evaluation split in percent, with 95% intervals over recordings; points: minus the "
            f"listed one, with intervals that hold for all {len(others):,} comparisons at once "
            f"(the bootstrap's largest deviation). So {worse} are worse beyond chance and "
            f"{better} better. The best of so many is ahead by chance too; whoever may not look at "
            "the evaluation split takes the one that is best on validation. Shown are the best, "
            "that one, and those with one model fewer or more; all are in audio_ensembles.csv."
        ),
        columns=tuple(
            ("", header)
            for header in ("Place", "Models", "Members", "mAP@10", "Points", "Validation mAP@10")
        ),
        rows=rows,
        keys=3,
    )


def _points(row: dict[str, float]) -> str:
    if row["removed"] == 0 and row["added"] == 0:
        return "0"
    return (
        f"{row['points_value']:+.2f} [{row['points_low']:+.2f}, {row['points_high']:+.2f}]"
    ).replace("-", "\N{MINUS SIGN}")
