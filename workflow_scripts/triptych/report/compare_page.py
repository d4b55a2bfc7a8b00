"""The page of `triptych compare --html`: what changed, drawn and listed."""

import io

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from triptych.report.compare import INSIDE, NONE, OUTSIDE, Comparison, row_text
from triptych.report.embedding import data_address
from triptych.report.page import rendered
from triptych.report.palette import STYLE
from triptych.report.tables import Table

COLOURS = {OUTSIDE: "#d55e00", INSIDE: "#0072b2", NONE: "#6b7785"}


def drawing(compared: Comparison) -> Figure:
    """A row a table, a dot a changed cell by how far it moved, in percent, coloured by whether
    that is beyond the intervals."""
    changed = compared.changed().dropna(subset=["percent"])
    names = list(dict.fromkeys(changed["table"]))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 1.2 + 0.28 * max(len(names), 1)), layout="constrained")
        axes = figure.subplots()
        for kind, colour in COLOURS.items():
            dots = changed[changed["interval"] == kind]
            heights = np.array([names.index(name) for name in dots["table"]], dtype=float)
            heights += 0.3 * np.sin(2.4 * np.arange(len(dots)))  # apart, each time alike
            axes.scatter(dots["percent"], heights, 11, colour, alpha=0.7, label=kind)
        axes.axvline(0, color="#b8c0c8", linewidth=0.8)
        axes.set_xscale("symlog", linthresh=1)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel("from A to B, percent of A (linear within 1)")
        figure.legend(loc="outside lower center", ncols=len(COLOURS))
    return figure


def compare_page(compared: Comparison, first: str, second: str) -> str:
    """The whole HTML document. first, second: names of the runs A and B."""
    stream = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        drawing(compared).savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    picture = data_address(stream.getvalue(), "image/svg+xml")
    tables = _tables(compared)
    return rendered("compare.html.j2", first=first, second=second, picture=picture, tables=tables)


def _tables(compared: Comparison) -> list[Table]:
    """Verdicts, each table's changed cells, and rows of one run alone."""
    verdicts = [("Claim", "A", "B"), *compared.claims.itertuples(index=False, name=None)]
    tables = [_table("claims", "Verdicts that changed.", verdicts)]
    headers = ("Cell", "A", "B", "Difference", "Percent of A", "Interval")
    for name, cells in compared.changed().groupby("table", sort=False):
        rows = [headers, *(row_text(row) for _, row in cells.iterrows())]
        tables.append(_table(str(name), f"{name}: {len(rows) - 1} cells changed.", rows))
    alone = [("Table", "Row", "Run"), *compared.only.itertuples(index=False, name=None)]
    return [*tables, _table("only", "Rows of one run alone.", alone)]


def _table(name: str, title: str, rows: list[tuple[str, ...]]) -> Table:
    columns = tuple(("", header) for header in rows[0])
    return Table(name, title, "", columns, tuple(rows[1:]), prose=name in ("claims", "only"))
