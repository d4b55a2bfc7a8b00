"""Tables: a long CSV of numbers, one row a cell, and their layout in Markdown, LaTeX, the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd

from triptych.core.files import atomic_path, write_csv
from triptych.report.statistics import Interval
from triptych.report.templates import filled

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"

MOST_COLUMNS, MOST_LETTERS = 8, 125

CELL_COLUMNS = ["value", "published", "difference", "difference_percent", "unit", "scale"]


@dataclass(frozen=True)
class Table:
    """A table as shown: text cells under headers of one or two levels.

    columns: (group, header) for each column; neighbours of one group share a heading, and a
    group of "" has none. The first `keys` columns are the row's name, the rest numbers. folded:
    whether the page shows its title alone at first.
    """

    name: str
    title: str
    caption: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    keys: int = 1
    prose: bool = False
    folded: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name}: {len(self.columns)} columns, a row of {len(row)}: {row}"
                )

    @classmethod
    def spread(
        cls,
        cells: pd.DataFrame,
        keys: Mapping[str, str],
        columns: Sequence[tuple[str, str]] = (),
        *,
        name: str,
        title: str,
        caption: str,
    ) -> "Table":
        """Lay out a long frame: a row for each combination of the columns `keys`, whose headers are
        the values; a dash where there is no cell.

        cells: `group`, `header` and text (`cell`) of each, and the columns `keys`. columns: those
        to show, in order; by default all as they first appear.
        """
        lines: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
        frame = cells[[*keys, "group", "header", "cell"]]
        for *key, group, header, cell in frame.itertuples(index=False, name=None):
            lines.setdefault(tuple(key), {})[group, header] = cell
        shown = columns or list(dict.fromkeys(column for line in lines.values() for column in line))
        rows = [
            (*key, *(line.get(column, DASH) for column in shown)) for key, line in lines.items()
        ]
        return cls(name, title, caption, [*plain(*keys.values()), *shown], rows, len(keys))

    def groups(self) -> list[tuple[str, int]]:
        """Runs of equal group headings: (heading, number of columns)."""
        runs = groupby(group for group, _ in self.columns)
        return [(group, len([*columns])) for group, columns in runs]

    def wide(self) -> bool:
        """Whether it needs small letters to fit the page."""
        lengths = [
            max(len(text) for text in (header, *(row[place] for row in self.rows)))
            for place, (_, header) in enumerate(self.columns)
        ]
        return len(lengths) > MOST_COLUMNS or sum(lengths) > MOST_LETTERS

    def grouped(self) -> bool:
        """Whether the headers have a second level."""
        return any(group for group, _ in self.columns)


def plain(*headers: str) -> list[tuple[str, str]]:
    """Columns of a table without groups."""
    return [("", header) for header in headers]


def with_cells(frame: pd.DataFrame, *, unit: str, scale: str) -> pd.DataFrame:
    """Add published, difference (value minus published, in the unit and in percent), unit and scale
    to a long frame that has `value`."""
    long = frame.copy()
    if "published" not in long:
        long["published"] = np.nan
    long["difference"] = long["value"] - long["published"]
    long["difference_percent"] = 100 * long["difference"] / long["published"]
    long["unit"] = unit
    long["scale"] = scale
    return long[[*(c for c in long if c not in CELL_COLUMNS), *CELL_COLUMNS]]


def number(value: float, digits: int) -> str:
    """A number with so many decimals, or a dash where there is none."""
    return DASH if pd.isna(value) else f"{value:z,.{digits}f}"  # z: 0 for what rounds to -0


def with_interval(value: float, low: float, high: float, digits: int) -> str:
    """A number and the ends of its interval, `0.97 [0.91, 1.02]`; without ends the number alone."""
    ends = "" if pd.isna(low) else f" {Interval(value, low, high).ends(digits)}"
    return f"{number(value, digits)}{ends}"


def signed(value: float, digits: int = 2) -> str:
    """A difference with its sign, or a dash where there is none."""
    return DASH if pd.isna(value) else f"{value:+.{digits}f}".replace("-", MINUS)


def as_printed(value: float) -> str:
    """A published number with the digits that the paper printed, or a dash for none."""
    return DASH if pd.isna(value) else f"{value:.10g}"


def percent(value: float, digits: int = 2) -> str:
    """A signed percentage, or a dash where there is none; what rounds to 0 has no sign."""
    if pd.isna(value):
        return DASH
    text = f"{value:+.{digits}f}"
    return ("0" if float(text) == 0 else text.replace("-", MINUS)) + " %"


def write_table(
    long: pd.DataFrame, shown: Table | Sequence[Table], files: Sequence[str | Path]
) -> None:
    """Write a table's numbers, and how it is shown, perhaps as several tables. files: csv, md, tex
    and html, in this order."""
    csv, md, tex, page = files
    write_csv(long, csv)
    tables = [shown] if isinstance(shown, Table) else shown
    for path, form in ((md, markdown), (tex, latex), (page, html)):
        text = "\n".join(form(table) for table in tables)
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def markdown(table: Table) -> str:
    """The table in GitHub's Markdown; two levels of headers become one."""
    headers = [f"{group} {header}".strip() for group, header in table.columns]
    aligned_left = len(headers) if table.prose else table.keys
    rule = ["---" if i < aligned_left else "---:" for i in range(len(headers))]
    lines = [headers, rule, *table.rows]
    body = "\n".join(f"| {' | '.join(map(_markdown_text, line))} |" for line in lines)
    return f"**{_markdown_text(table.title)}** {_markdown_text(table.caption)}\n\n{body}\n"


def html(table: Table) -> str:
    """The table as a part of the page."""
    return filled("table.html.j2", table=table)


def latex(table: Table) -> str:
    """The table for LaTeX with booktabs; all text escaped."""
    others = len(table.columns) - table.keys
    kind = rf"p{{{0.8 / max(others, 1):.2f}\linewidth}}" if table.prose else "r"
    columns = pd.MultiIndex.from_tuples(table.columns)
    frame = pd.DataFrame(
        list(table.rows), columns=columns if table.grouped() else columns.droplevel(0)
    )
    styler = frame.style.hide(axis="index").format(_latex_text)
    return styler.format_index(_latex_text, axis="columns").to_latex(
        column_format="l" * table.keys + kind * others,
        position_float="centering",
        hrules=True,
        label=f"tab:{table.name}",
        caption=_latex_text(f"{table.title} {table.caption}"),
        multicol_align="c",
    )


_LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    DASH: "--",
    MINUS: "$-$",
    TIMES: r"$\times$",
    "µ": r"\textmu{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "·": r"\textperiodcentered{}",
    "\n": " ",
}


def _latex_text(text: object) -> str:
    return "".join(_LATEX.get(character, character) for character in str(text))


def _markdown_text(text: str) -> str:
    """Escaped so that text from data makes neither HTML nor a new cell."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
