"""The page's first screen: one picture, one sentence and three numbers of each study; and bars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from triptych.core.files import atomic_path
from triptych.report.embedding import Embedded, preview
from triptych.report.tables import number
from triptych.report.templates import filled


@dataclass(frozen=True)
class Bar:
    """A length with a label, in the unit of its neighbours.

    text: the value in words. low, high: ends of an interval. group: a heading, written where it
    changes. strong: the picture is about this bar.
    """

    label: str
    value: float
    text: str
    low: float = math.nan
    high: float = math.nan
    group: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars along one axis that begins at zero. caption: Markdown. whole: length of the axis
    (default: that of the longest bar or interval)."""

    caption: str
    bars: Sequence[Bar]
    whole: float = math.nan

    def share(self, length: float) -> float:
        """A length in percent of the axis; the part beyond either end is cut off."""
        ends = [end for bar in self.bars for end in (bar.value, bar.high) if math.isfinite(end)]
        longest = max(ends, default=0) or 1
        longest = longest if math.isnan(self.whole) else self.whole
        return 0 if math.isnan(length) else round(100 * min(max(length / longest, 0), 1), 2)


def interval_bars(rows: pd.DataFrame, digits: int) -> list[Bar]:
    """A bar for each row: its label, value, low, high and strong, and its group if there is one."""
    return [
        Bar(text=number(row["value"], digits), **{str(name): cell for name, cell in row.items()})
        for row in rows.to_dict("records")
    ]


@dataclass(frozen=True)
class Summary:
    """First screen of a study.

    sentence: what the run shows of the paper, with its interval (Markdown). limits: what it can't
    show, and why (Markdown). numbers: value and label of each, at most three.
    bars or photographs: the picture; of photographs, each with its alternative text; of three the
    first is large. caption: of the photographs (Markdown).
    """

    sentence: str
    numbers: Sequence[tuple[str, str]]
    limits: str = ""
    bars: Bars | None = None
    photographs: Sequence[tuple[Embedded, str]] = ()
    caption: str = ""


def photographs(paths: Sequence[Path], texts: Sequence[str]) -> list[tuple[Embedded, str]]:
    """PNG files with their alternative texts."""
    return [(preview(path), text) for path, text in zip(paths, texts, strict=True)]


def write_summary(summary: Summary, path: str | Path) -> None:
    """Write a study's first screen as a part of the page."""
    with atomic_path(path) as temporary:
        temporary.write_text(filled("summary.html.j2", summary=summary), encoding="utf-8")
