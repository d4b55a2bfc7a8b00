"""Differences between two runs, cell by cell: `triptych compare`."""

import textwrap
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Comparison:
    """Two runs. cells: a row each that both have, of `table`, `cell`, `a`, `b`, `difference`,
    `percent`, `interval` (OUTSIDE where neither value lies within the other's interval), `text_a`,
    `text_b` as the tables have them, since some values are words. only: rows of one run alone, as
    `table`, `cell`, `run`. claims: `id`, `a`, `b`, where verdicts differ."""

    cells: pd.DataFrame
    only: pd.DataFrame
    claims: pd.DataFrame

    def changed(self) -> pd.DataFrame:
        """The cells whose values differ, those outside their intervals first, then by percent."""
        words = self.cells["difference"].isna() & (self.cells["text_a"] != self.cells["text_b"])
        cells = self.cells[words | (self.cells["percent"].abs() > 100 * SAME)]
        order = {"inside": cells["interval"] != OUTSIDE, "by": -cells["percent"].abs()}
        ordered = pd.DataFrame(order).sort_values(["inside", "by"], kind="stable")
        return cells.loc[ordered.index]


def compare(first: Path, second: Path) -> Comparison:
    """Compare the tables and claims of two folders of results.

    Raises InputError for a folder without tables, or two that have none in common.
    """
    a, b = _tables(first), _tables(second)
    common = [name for name in a if name in b]
    if not common:
        raise InputError(f"{first} and {second} have no table in common: two results folders?")
    cells, only = [], []
    for name in common:
        matched = _matched(a[name], b[name])
        both = matched["_merge"] == "both"
        cells.append(_cells(matched[both]).assign(table=name))
        alone = matched.loc[~both, ["cell", "_merge"]].astype(str)
        alone["run"] = alone.pop("_merge").map({"left_only": "A", "right_only": "B"})
        only.append(alone.assign(table=name))
    for run, here, other in (("A", a, b), ("B", b, a)):
        missing = [name for name in here if name not in other]
        only.append(pd.DataFrame({"cell": "the whole table", "run": run, "table": missing}))
    return Comparison(
        pd.concat(cells, ignore_index=True),
        pd.concat(only, ignore_index=True)[["table", "cell", "run"]],
        _claims(first, second),
    )


def _tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The long tables of a run by name."""
    paths = sorted(path for path in (folder / "tables").glob("*.csv") if path.is_file())
    if not paths:
        raise InputError(f"{folder}: no tables/*.csv there; give a results folder of a run")
    frames = {path.stem: _table(path) for path in paths}
    return {name: frame for name, frame in frames.items() if "value" in frame}


def _table(path: Path) -> pd.DataFrame:
    """Read a CSV file. Raises InputError."""
    try:
        return pd.read_csv(path, low_memory=False)
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a table: {error}") from error


def _matched(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """The rows of both, joined by what names a cell and, among equals, by their order."""
    named = [key for key in a if key in b and key not in RESULTS]
    keys = [
        key
        for key in named
        if str(key).endswith("_percent") or not (_fractions(a[key]) or _fractions(b[key]))
    ]
    sides = []
    for frame in (a, b):
        names = [[_name(value) for value in row] for row in frame[keys].itertuples(index=False)]
        side = frame.reindex(columns=["value", "low", "high"]).apply(pd.to_numeric, errors="coerce")
        side["text"] = [DASH if pd.isna(value) else str(value) for value in frame["value"]]
        side["cell"] = [", ".join(filter(None, row)) for row in names]
        side["place"] = side.groupby("cell").cumcount()
        sides.append(side)
    return sides[0].merge(sides[1], on=["cell", "place"], how="outer", indicator=True)


def _name(value: Any) -> str:
    """A part of a cell's name; a whole number is read as a fraction where some are missing."""
    return "" if pd.isna(value) else str(value).removesuffix(".0")


def _fractions(column: pd.Series) -> bool:
    numbers = column.dropna()
    return pd.api.types.is_float_dtype(column) and bool((numbers % 1 != 0).any())


def _cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Both values, their difference, and how it stands to the intervals."""
    a, b = rows["value_x"], rows["value_y"]
    inside = with_interval = pd.Series(False, index=rows.index)
    for value, other, side in ((a, b, "x"), (b, a, "y")):
        low, high = rows[f"low_{side}"], rows[f"high_{side}"]
        of_value = value.between(low, high)  # some tables have intervals of something else
        inside = inside | (of_value & other.between(low, high))
        with_interval = with_interval | of_value
    size = np.maximum(a.abs(), b.abs())
    change = (100 * (b - a) / a.abs().where(a != 0, size)).where(size > 0, 0.0)
    interval = np.select([~with_interval, inside], [NONE, INSIDE], OUTSIDE)
    both = {"cell": rows["cell"], "a": a, "b": b, "difference": b - a, "percent": change}
    words = {"text_a": rows["text_x"], "text_b": rows["text_y"], "interval": interval}
    return pd.DataFrame(both | words)


def _claims(first: Path, second: Path) -> pd.DataFrame:
    """Claims whose verdicts differ; one that a run lacks has a dash."""
    sides = [_verdicts(first / "claims.csv"), _verdicts(second / "claims.csv")]
    both = pd.concat(sides, axis=1, keys=["a", "b"]).fillna(DASH)
    return both[both["a"] != both["b"]].rename_axis("id").reset_index()


def _verdicts(path: Path) -> pd.Series:
    """The verdict of each claim by its id; none where there is no file. Raises InputError."""
    if not path.is_file():
        return pd.Series(dtype=str)
    claims = _table(path)
    if not {"id", "verdict"} <= {*claims} or not claims["id"].is_unique:
        raise InputError(
            f"{path}: expected the columns id and verdict, and each id once; delete the file and "
            "run snakemake again"
        )
    return claims.set_index("id")["verdict"].astype(str)


def text(compared: Comparison, whole: bool = False) -> str:
    """The printed comparison: verdicts, changed cells of each table, rows of one run alone.

    whole: with every cell that changed, not a table's SHOWN.
    """
    lines = [f"{len(compared.claims)} claims changed their verdict"]
    lines += [f"  {row.id}: {row.a} -> {row.b}" for row in compared.claims.itertuples()]
    changed = compared.changed()
    for name, cells in compared.cells.groupby("table"):
        of_table = changed[changed["table"] == name]
        if of_table.empty:
            continue
        outside = int((of_table["interval"] == OUTSIDE).sum())
        lines.append(f"{name}: {len(of_table)} of {len(cells)} cells changed, {outside} outside")
        shown = of_table if whole else of_table.head(SHOWN)
        lines += [f"  {' | '.join(row_text(row))}" for _, row in shown.iterrows()]
        if len(of_table) > len(shown):
            lines.append(f"  and {len(of_table) - len(shown)} more: --all prints them")
    for _, rows in compared.only.groupby(["table", "run"]):
        table, cell, run = rows.iloc[0]
        lines.append(f"{table}: {len(rows)} rows only in {run}: {cell}, ...")
    same = compared.cells["table"].nunique() - changed["table"].nunique()
    lines.append(f"{same} tables are the same in all cells that both runs have")
    lines.append("outside: neither value lies in the other's interval; relative to A")
    return "\n".join(lines)


def row_text(row: pd.Series) -> tuple[str, ...]:
    """A changed cell as it is shown: cell, A, B, difference, percent, interval."""
    if pd.isna(row["difference"]):
        words = (textwrap.shorten(row[key], 60, placeholder=" …") for key in ("text_a", "text_b"))
        return (str(row["cell"]), *words, DASH, DASH, DASH)
    numbers = (f"{row[key]:.6g}" for key in ("a", "b", "difference"))
    return (str(row["cell"]), *numbers, percent(row["percent"], 1), str(row["interval"]))
