"""Differences between two runs, cell by cell: `triptych compare`."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from triptych.core.errors import InputError
from triptych.report.tables import CELL_COLUMNS, DASH, percent

RESULTS = {
    *(*CELL_COLUMNS, "low", "high", "minimum", "maximum", "deviation", "verdict", "status"),
    *("seeds", "runs", "repeats", "episodes", "queries", "clips", "images", "frames", "models"),
    *("evaluations", "batches", "weights", "width", "architecture", "origin", "data", "place"),
    *("device", "threads", "precision", "comparable", "cut", "least", "bytes", "values"),
    *("valid_percent", "reached", "chosen", "training_seconds", "taken_up"),
} - {"unit"}
"""Result and metadata columns. The other columns identify a row, except numbers with fractions
other than percents such as a sparsity of 97.5."""
SAME = 1e-9
"""The relative difference below which two numbers are one."""
OUTSIDE, INSIDE, NONE = "outside", "inside", "no interval"
SHOWN = 5
"""Changed cells of a table that are printed unless all are, the most changed first."""
CLAIMS = "claims"


def compare(first: Path, second: Path) -> pd.DataFrame:
    """Compare the tables and claims of two folders of results, a row a cell.

    Returns table, cell, text_a, text_b (values as the tables have them; nan in the run that lacks
    the cell), a, b, difference, percent, interval (OUTSIDE where neither value lies within the
    other's interval), changed. Verdicts are the cells of a table `claims`. Raises InputError for a
    folder without tables, or two that have none in common.
    """
    a, b = _tables(first), _tables(second)
    if not a.keys() & b.keys() - {CLAIMS}:
        raise InputError(f"{first} and {second} have no table in common: two results folders?")
    none = pd.DataFrame()
    return pd.concat(
        [
            _cells(_matched(a.get(name, none), b.get(name, none))).assign(table=name)
            for name in dict.fromkeys([*a, *b])
        ],
        ignore_index=True,
    )


def _tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The long tables of a run by name, and its claims. Raises InputError."""
    paths = sorted(path for path in (folder / "tables").glob("*.csv") if path.is_file())
    if not paths:
        raise InputError(f"{folder}: no tables/*.csv there; give a results folder of a run")
    frames = {path.stem: _table(path) for path in paths}
    claims = folder / "claims.csv"
    if claims.is_file():
        verdicts = _table(claims)
        if not {"id", "verdict"} <= {*verdicts}:
            raise InputError(f"{claims}: no columns id and verdict; run snakemake again")
        frames = {CLAIMS: verdicts[["id"]].assign(value=verdicts["verdict"]), **frames}
    return {name: frame for name, frame in frames.items() if "value" in frame}


def _table(path: Path) -> pd.DataFrame:
    """Read a CSV file. Raises InputError."""
    try:
        return pd.read_csv(path, low_memory=False)
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a table: {error}") from error


def _matched(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """The rows of both, joined by what names a cell and, among equals, by their order."""
    frames = [frame for frame in (a, b) if len(frame.columns)]
    keys = [
        key
        for key in frames[0]
        if key not in RESULTS
        and all(key in frame for frame in frames)
        and (str(key).endswith("_percent") or not any(_fractions(frame[key]) for frame in frames))
    ]
    sides = []
    for frame in (a, b):
        frame = frame.reindex(columns=[*keys, "value", "low", "high"])
        numbers = frame[["value", "low", "high"]].apply(pd.to_numeric, errors="coerce")
        names = [[_name(value) for value in row] for row in frame[keys].itertuples(index=False)]
        text = [DASH if pd.isna(value) else str(value) for value in frame["value"]]
        side = numbers.assign(text=text, cell=[", ".join(filter(None, row)) for row in names])
        sides.append(side.assign(place=side.groupby("cell").cumcount()))
    return sides[0].merge(sides[1], on=["cell", "place"], how="outer", suffixes=("_a", "_b"))


def _name(value: Any) -> str:
    """A part of a cell's name; a whole number is read as a fraction where some are missing."""
    return "" if pd.isna(value) else str(value).removesuffix(".0")


def _fractions(column: pd.Series) -> bool:
    numbers = column.dropna()
    return pd.api.types.is_float_dtype(column) and bool((numbers % 1 != 0).any())


def _cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Both values, their difference, and how it stands to the intervals."""
    a, b = rows["value_a"], rows["value_b"]
    inside = with_interval = pd.Series(False, index=rows.index)
    for value, other, side in ((a, b, "a"), (b, a, "b")):
        low, high = rows[f"low_{side}"], rows[f"high_{side}"]
        of_value = value.between(low, high)  # some tables have intervals of something else
        inside = inside | (of_value & other.between(low, high))
        with_interval = with_interval | of_value
    size = np.maximum(a.abs(), b.abs())
    change = (100 * (b - a) / a.abs().where(a != 0, size)).where(size > 0, 0.0)
    both = rows["text_a"].notna() & rows["text_b"].notna()
    words = both & (a.isna() | b.isna()) & (rows["text_a"] != rows["text_b"])
    return rows[["cell", "text_a", "text_b"]].assign(
        a=a,
        b=b,
        difference=b - a,
        percent=change,
        interval=np.select([~with_interval, inside], [NONE, INSIDE], OUTSIDE),
        changed=words | (change.abs() > 100 * SAME),
    )


def text(compared: pd.DataFrame, whole: bool = False) -> str:
    """The printed comparison: by table changed cells, and rows of one run alone.

    whole: with every cell that changed, not a table's SHOWN. Verdicts are always printed.
    """
    lines, same = [], 0
    for name, cells in compared.groupby("table", sort=False):
        alone = {run: cells[cells[f"text_{run}"].isna()] for run in ("a", "b")}
        changed = cells[cells["changed"]]
        order = pd.DataFrame(
            {"in": changed["interval"] != OUTSIDE, "by": -changed["percent"].abs()}
        )
        changed = changed.loc[order.sort_values(["in", "by"], kind="stable").index]
        same += changed.empty
        if len(changed):
            both = len(cells) - sum(map(len, alone.values()))
            outside = (changed["interval"] == OUTSIDE).sum()
            lines.append(f"{name}: {len(changed)} of {both} cells changed, {outside} outside")
        shown = changed if whole or name == CLAIMS else changed.head(SHOWN)
        lines += [f"  {' | '.join(row_text(row))}" for _, row in shown.iterrows()]
        if len(changed) > len(shown):
            lines.append(f"  and {len(changed) - len(shown)} more: --all prints them")
        for run, other in (("A", "b"), ("B", "a")):
            if len(alone[other]):
                lines.append(
                    f"{name}: {len(alone[other])} rows only in {run}: "
                    f"{alone[other]['cell'].iloc[0]}, ..."
                )
    lines.append(f"{same} tables are the same in all cells that both runs have")
    lines.append("outside: neither value lies in the other's interval; relative to A")
    return "\n".join(lines)


def row_text(row: pd.Series) -> tuple[str, ...]:
    """A changed cell as it is shown: cell, A, B, difference, percent, interval; words without."""
    if pd.isna(row["difference"]):
        words = (textwrap.shorten(row[key], 60, placeholder=" …") for key in ("text_a", "text_b"))
        return (str(row["cell"]), *words)
    numbers = (f"{row[key]:.6g}" for key in ("a", "b", "difference"))
    return (str(row["cell"]), *numbers, percent(row["percent"], 1), str(row["interval"]))
